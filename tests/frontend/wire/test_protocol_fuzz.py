"""Any bytes at all, to the protocol's state machine: its own errors alone, and the same events however they are cut."""

from __future__ import annotations

import itertools
import random
import struct
from collections.abc import Iterable, Iterator
from typing import Any

from risingpy.errors import SqlError
from risingpy.frontend.wire.client_messages import Bind, CopyData, ExecuteMessage, Malformed, QueryMessage
from risingpy.frontend.wire.endings import Fatal, Hangup
from risingpy.frontend.wire.protocol import ClientProtocol, Phase
from tests.examples import is_fuzzing

LIMIT = 100_000
STREAMS = 400_000 if is_fuzzing() else 20_000
TERMINATE = b"X\0\0\0\4"


def mutated(packet: bytes, chosen: random.Random) -> bytes:
    kind = chosen.random()
    if kind < 0.15:
        changed = bytearray(packet)
        for _ in range(chosen.randint(1, 3)):
            changed[chosen.randrange(len(changed))] = chosen.choice(b"\0\1\3QPBDECSHXdcfFp\xff")
        return bytes(changed)
    if kind < 0.18:
        return packet[: chosen.randrange(len(packet))]
    if kind < 0.2:
        return chosen.randbytes(chosen.randint(1, 40))
    return packet


def streams(raw: Any, count: int) -> Iterator[bytes]:
    """What clients might send from their first byte on, and what none would."""
    chosen = random.Random(20_261_123)
    starts = [raw.startup(), raw.startup(196610, b"_pq_.x\0y\0"), struct.pack("!III", 16, 80877102, 7) + b"keys"]
    starts += [struct.pack("!II", 8, 80877103) + raw.startup()] * 2
    messages = [
        raw.query(b"select 1"),
        raw.query(b"copy t from stdin"),
        raw.query("naïve".encode()),
        raw.parse(b"s", b"copy t from stdin", [23, 0]),
        raw.bind(b"p", b"s", [b"1", None, b""], [1], [0, 1]),
        raw.describe(b"S", b"s"),
        raw.describe(b"P"),
        raw.execute(b"copy", 1),
        raw.execute(b"fails"),
        raw.close(b"P", b"p"),
        raw.message(b"F", b"\0\1"),
        raw.message(b"d", b"1\tx\n" * 3),
        raw.message(b"d", b"fails"),
        raw.message(b"c"),
        raw.message(b"f", b"no\0"),
        raw.FLUSH,
        raw.SYNC,
        raw.SYNC,
        TERMINATE,
    ]
    for _ in range(count):
        parts = [mutated(chosen.choice(starts), chosen) if chosen.random() < 0.1 else starts[0]]
        parts += [mutated(chosen.choice(messages), chosen) for _ in range(chosen.randint(1, 9))]
        yield b"".join(parts)


class Driver:
    """Asks a machine for its events as a server does, which starts a COPY or fails where the stream says so."""

    def __init__(self) -> None:
        self.protocol = ClientProtocol(LIMIT)
        self.events: list[Any] = []
        self.most_kept = 0

    def feed(self, data: bytes) -> None:
        if self.protocol.phase is not Phase.TERMINATED:
            self.protocol.receive(data)
            try:
                while self._step():
                    pass
            except Fatal as end:
                self.events.append(("fatal", end.error.sqlstate, end.error.message))
            except Hangup:
                self.events.append("hangup")
            self.most_kept = max(self.most_kept, self.protocol.kept_bytes)

    def _step(self) -> bool:
        match self.protocol.phase:
            case Phase.TERMINATED:
                return False
            case Phase.STARTUP:
                event: Any = self.protocol.next_packet()
            case Phase.COPY_IN:
                event = self.protocol.next_copy_message()
            case _:
                event = self.protocol.next_message()
        if event is None:
            return False
        self.events.append(_plain(event))
        self._answer(event)
        return True

    def _answer(self, event: Any) -> None:
        match event:
            case QueryMessage(text) if "copy" in text:
                self.protocol.begin_copy()
            case ExecuteMessage(portal="copy"):
                self.protocol.begin_copy()
            case ExecuteMessage(portal="fails"):
                self.protocol.skip_to_sync()
            case CopyData(b"fails"):
                self.protocol.end_copy()
                if self.protocol.phase is Phase.SERIES:
                    self.protocol.skip_to_sync()


def _plain(event: Any) -> Any:
    """An event as something that can be compared: errors cannot."""
    if isinstance(event, Malformed):
        return ("malformed", event.in_series, event.error.sqlstate, event.error.message)
    if isinstance(event, Bind) and isinstance(event.arguments, SqlError):
        return ("bind", event.portal, event.statement, event.arguments.sqlstate, event.arguments.message)
    return event


def driven(pieces: Iterable[bytes]) -> Driver:
    driver = Driver()
    for piece in pieces:
        driver.feed(piece)
    driver.feed(b"")
    return driver


def by_bytes(stream: bytes) -> Iterator[bytes]:
    return (stream[index : index + 1] for index in range(len(stream)))


def at_random(stream: bytes, chosen: random.Random) -> Iterator[bytes]:
    cuts = sorted(chosen.randrange(len(stream) + 1) for _ in range(4))
    places = [0, *cuts, len(stream)]
    return (stream[a:b] for a, b in itertools.pairwise(places) if a < b)


def test_events_are_the_same_however_the_bytes_are_cut(raw: Any) -> None:
    """Any bytes: no exception but the protocol's own, the same events from any pieces, and nothing is kept for long."""
    chosen = random.Random(1)
    kinds: dict[str, int] = {}
    for number, stream in enumerate(streams(raw, STREAMS)):
        whole = driven([stream])
        assert whole.protocol.phase is Phase.TERMINATED
        assert driven(at_random(stream, chosen)).events == whole.events, stream
        single = driven(by_bytes(stream))
        assert single.events == whole.events, stream
        assert single.most_kept <= len(stream)
        if number % 200 == 0:
            for cut in range(1, len(stream)):
                assert driven([stream[:cut], stream[cut:]]).events == whole.events, (stream, cut)
        for event in whole.events:
            name = event if isinstance(event, str) else event[0] if isinstance(event, tuple) else type(event).__name__
            kinds[name] = kinds.get(name, 0) + 1
    assert {"StartupMessage", "CopyData", "CopyFail", "Bind", "malformed", "fatal", "hangup", "Terminate"} <= set(kinds)
    assert min(kinds.values()) >= STREAMS // 200, kinds


def test_random_bytes_from_the_start(raw: Any) -> None:
    chosen = random.Random(2)
    for _ in range(STREAMS // 10):
        stream = (raw.startup() if chosen.random() < 0.7 else b"") + chosen.randbytes(chosen.randint(1, 60))
        assert driven(by_bytes(stream)).events == driven([stream]).events
