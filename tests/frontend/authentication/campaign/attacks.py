"""What attackers do at the wire's port: each function is one attacker, who says how each of many tries has ended.

Attackers come from many addresses of 127.0.0.0/8: guesses from one address are soon slowed.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import random
import re
import socket
import ssl
import struct
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache

from tests.frontend.authentication.mangling import damaged, mangled

LET_IN = b"R\0\0\0\x08\0\0\0\0"
SSL_REQUEST = struct.pack("!II", 8, 80877103)
HOST = "127.0.0.1"
VICTIM, PASSWORD = "victim", "the victim's own password"
CERTIFIED = "certified"  # logs in over TLS without a password: `trust`
_PATIENCE = 20.0
_GUESSER_PATIENCE = 0.2  # of one who has been told to wait before
_NONCE = "rOprNGfwEbeRWgbNEkqO"


@dataclass(frozen=True, slots=True)
class Share:
    """A part of an attack."""

    port: int
    seed: int
    tries: int


def startup(user: str) -> bytes:
    body = struct.pack("!I", 196608) + f"user\0{user}\0database\0dev\0\0".encode()
    return struct.pack("!I", len(body) + 4) + body


def mangled_scram(share: Share) -> Counter[str]:
    """The right password, in messages that are not right."""
    dice, ends = random.Random(share.seed), Counter[str]()
    for _ in range(share.tries):
        first = b"n,,n=,r=" + _NONCE.encode()
        with _connected(share.port, _address(dice)) as client:
            client.sendall(startup(VICTIM))
            _message(client)
            sent = _password_message(mangled(first, dice), dice, 0.5) if dice.random() < 0.3 else _initial(first)
            client.sendall(sent)
            if sent != _initial(first):
                ends[_end(client)] += 1
                continue
            answer = _message(client)[9:].decode()
            final = _final(answer, PASSWORD)
            right = _framed(final)
            given = _framed(mangled(final, dice)) if dice.random() < 0.7 else damaged(right, dice)
            ends[_end(client, given[::-1] if _means_the_same(right, given) else given)] += 1
    return ends


def mangled_handshakes(share: Share) -> Counter[str]:
    """A damaged ClientHello, or a damaged answer to the server's; whoever gets through it would be let in."""
    dice, ends = random.Random(share.seed), Counter[str]()
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    for number in range(share.tries):
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        tls = context.wrap_bio(incoming, outgoing)
        with contextlib.suppress(ssl.SSLWantReadError):
            tls.do_handshake()
        hello = outgoing.read()
        with _connected(share.port, _address(dice)) as client:
            client.sendall(SSL_REQUEST)
            assert client.recv(1) == b"S"
            if number % 2:
                ends[_end(client, damaged(hello, dice) + startup(CERTIFIED))] += 1
                continue
            client.sendall(hello)
            _shake(client, tls, incoming)
            flight = outgoing.read()
            tls.write(startup(CERTIFIED))
            kept = 6 if flight[0] == 0x14 else 0  # ChangeCipherSpec, which TLS 1.3 ignores
            ends[_end(client, damaged(flight, dice, kept) + outgoing.read(), tls, incoming)] += 1
    return ends


def guesses(share: Share) -> Counter[str]:
    """Passwords of a list, one after the other: from one address if the seed is 0, else five from each of many."""
    dice, ends = random.Random(share.seed), Counter[str]()
    for number in range(share.tries):
        if number % 5 == 0:
            address = _address(dice) if share.seed else HOST
        with _connected(share.port, address, _PATIENCE if share.seed else _GUESSER_PATIENCE) as client:
            try:
                client.sendall(startup(VICTIM))
                answer = _message(client)
                if answer[:1] == b"R":
                    client.sendall(_initial(b"n,,n=,r=" + _NONCE.encode()))
                    answer = _message(client)
                if answer[:1] == b"R":
                    client.sendall(_framed(_final(answer[9:].decode(), f"password{number}")))
                    answer = _message(client)
                ends["in" if answer[:1] == b"R" else _sqlstate(answer)] += 1
            except TimeoutError:
                ends["gave up"] += 1
    return ends


def _connected(port: int, address: str, patience: float = _PATIENCE) -> socket.socket:
    return socket.create_connection((HOST, port), patience, (address, 0))


def _address(dice: random.Random) -> str:
    return f"127.{dice.randrange(1, 255)}.{dice.randrange(256)}.{dice.randrange(1, 255)}"


def _message(client: socket.socket) -> bytes:
    """A whole message of the server."""
    answer = b""
    while len(answer) < 5 or len(answer) < struct.unpack("!I", answer[1:5])[0] + 1:
        piece = client.recv(65536)
        if not piece:
            break
        answer += piece
    return answer


def _end(
    client: socket.socket, last: bytes = b"", tls: ssl.SSLObject | None = None, incoming: ssl.MemoryBIO | None = None
) -> str:
    """Sends the last bytes, reads all that comes, and says how it has ended: in, an SQLSTATE, or closed."""
    answer = b""
    with contextlib.suppress(OSError):  # cut meanwhile
        client.sendall(last)
        client.shutdown(socket.SHUT_WR)
        while piece := client.recv(65536):
            answer += piece
    if tls is not None and incoming is not None:
        incoming.write(answer)
        try:
            answer = tls.read(65536)
        except ssl.SSLError:
            answer = b""
    return "in" if LET_IN in answer else _sqlstate(answer)


def _shake(client: socket.socket, tls: ssl.SSLObject, incoming: ssl.MemoryBIO) -> None:
    """Reads the server's part of a handshake; the client's answer is not sent yet."""
    while True:
        piece = client.recv(65536)
        assert piece, "the server has refused a right ClientHello"
        incoming.write(piece)
        with contextlib.suppress(ssl.SSLWantReadError):
            return tls.do_handshake()


def _sqlstate(answer: bytes) -> str:
    found = re.search(rb"\0C([0-9A-Z]{5})\0", answer)
    return found[1].decode() if found else "closed"


def _framed(body: bytes) -> bytes:
    return b"p" + struct.pack("!I", len(body) + 4) + body


def _initial(first: bytes) -> bytes:
    return _framed(b"SCRAM-SHA-256\0" + struct.pack("!I", len(first)) + first)


def _password_message(first: bytes, dice: random.Random, chance: float) -> bytes:
    message = _initial(first)
    return damaged(message, dice) if dice.random() < chance else message


@lru_cache(maxsize=64)
def _salted(password: str, salt: bytes, iterations: int) -> bytes:
    return hashlib.pbkdf2_hmac("sha256", password.encode(), salt, iterations)


def _final(answer: str, password: str) -> bytes:
    """The client's last message, after the server's first."""
    fields = dict(part.split("=", 1) for part in answer.split(","))
    key = _mac(_salted(password, base64.b64decode(fields["s"]), int(fields["i"])), b"Client Key")
    unproven = f"c=biws,r={fields['r']}"
    signature = _mac(hashlib.sha256(key).digest(), f"n=,r={_NONCE},{answer},{unproven}".encode())
    proof = bytes(a ^ b for a, b in zip(key, signature, strict=True))
    return f"{unproven},p={base64.b64encode(proof).decode()}".encode()


def _mac(key: bytes, message: bytes) -> bytes:
    return hmac.digest(key, message, "sha256")


def _means_the_same(right: bytes, given: bytes) -> bool:
    """Whether only bits are turned that the proof's base64 does not use."""
    return given[:-2] == right[:-2] and given[-1:] == b"="
