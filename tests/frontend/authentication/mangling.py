"""Messages that differ from right ones."""

from __future__ import annotations

import random
from collections.abc import Callable

MANGLES: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    lambda message, dice: message[: dice.randrange(len(message))],
    lambda message, dice: message + dice.randbytes(dice.randrange(1, 40)),
    lambda message, dice: bytes(b ^ (1 << dice.randrange(8)) if dice.random() < 0.05 else b for b in message),
    lambda message, dice: message.replace(b",", b"", 1),
    lambda message, dice: message[::-1],
    lambda message, dice: dice.randbytes(dice.randrange(200)),
    lambda message, dice: b",".join(dice.sample(parts := message.split(b","), len(parts))),
    lambda message, dice: message * dice.randrange(2, 5),
    lambda message, dice: message.replace(b"=", b"==", 1),
)


def mangled(message: bytes, dice: random.Random) -> bytes:
    changed = dice.choice(MANGLES)(message, dice)
    return changed if changed != message else changed + b"x"


def damaged(packet: bytes, dice: random.Random, kept: int = 0) -> bytes:
    """Cut short, or with a few bits turned, behind the first `kept` bytes: what a packet says is never said whole."""
    if dice.random() < 0.3:
        return packet[: dice.randrange(kept, len(packet))]
    changed = bytearray(packet)
    for place in dice.sample(range(kept, len(packet)), min(dice.randrange(1, 9), len(packet) - kept)):
        changed[place] ^= 1 << dice.randrange(8)
    return bytes(changed)
