"""Whole conversations without a socket: a client's bytes in, the server's bytes out."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from risingpy.errors import AdminShutdown, QueryCanceled
from risingpy.frontend.results import StartupParameters
from risingpy.frontend.wire import Limits
from risingpy.frontend.wire.activity import Activity, Due
from risingpy.frontend.wire.client_messages import CopyMessage, Message
from risingpy.frontend.wire.conversation import converse, greet
from risingpy.frontend.wire.endings import Fatal, Hangup
from risingpy.frontend.wire.protocol import ClientProtocol, Phase
from risingpy.frontend.wire.responder import Responder
from risingpy.frontend.wire.short_path.series import Repeats


class MemoryChannel:
    """A client whose bytes are all known, in the pieces in which they will arrive."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self.protocol = ClientProtocol(100_000)
        self.said = b""
        self.ending: AdminShutdown | None = None
        self._pieces = iter(pieces)

    def receive(self) -> None:
        self.protocol.receive(next(self._pieces, b""))

    def next_message(self) -> Message:
        while (message := self.protocol.next_message()) is None:
            self.receive()
        return message

    def next_copy_message(self, check: Callable[[], None]) -> CopyMessage:
        while (message := self.protocol.next_copy_message()) is None:
            check()
            self.receive()
        return message

    def sync_follows(self) -> bool:
        return self.protocol.sync_is_next

    def repeats(self, most: int, answered: Repeats | None) -> Repeats | None:
        return self.protocol.repeats(most, answered)

    def skip_to_sync(self) -> None:
        self.protocol.skip_to_sync()

    def begin_copy(self) -> None:
        self.protocol.begin_copy()

    def end_copy(self) -> None:
        self.protocol.end_copy()

    def rest(self, forget_cancel: Callable[[], None]) -> None:
        forget_cancel()

    def check_ending(self) -> None:
        if self.ending is not None:
            raise Fatal(self.ending)

    def write(self, data: bytes | memoryview) -> None:
        self.said += data

    def flush(self) -> None:
        pass


def answered(raw: Any, database: Any, pieces: Iterable[bytes]) -> bytes:
    """What a client is told that sends its startup packet, and then these pieces."""
    channel = MemoryChannel(pieces)
    channel.protocol.receive(raw.startup())
    channel.protocol.next_packet()
    session = database.open(StartupParameters("u", "db"))
    responder = Responder(session, channel)
    greet(responder, {"a": "b"}, 7, b"keys")
    try:
        converse(responder)
    except Hangup:
        pass
    except Fatal as end:
        channel.said += f"FATAL {end.error.sqlstate} {end.error.message}".encode()
    session.close()
    return channel.said


def kinds(said: bytes) -> str:
    """The types of the messages; what is no message must be the note of a fatal end."""
    found, at = "", 0
    while at < len(said) and not said[at:].startswith(b"FATAL "):
        found += chr(said[at])
        at += 1 + int.from_bytes(said[at + 1 : at + 5], "big")
    return found


def test_a_whole_conversation(raw: Any, database: Any) -> None:
    parts = [
        raw.query(b"create or replace table co(a int, b varchar)"),
        raw.query(b"copy co from stdin"),
        raw.message(b"d", b"1\tx\n2\ty\n"),
        raw.message(b"c"),
        raw.parse(b"s", b"select a from co where a > $1::int", [23]),
        raw.bind(b"", b"s", [b"0"]),
        raw.describe(b"P"),
        raw.execute(),
        raw.SYNC,
        raw.parse(b"s", b"select 1"),
        raw.execute(),
        raw.SYNC,
        raw.query(b"copy co to stdout"),
        raw.message(b"X"),
    ]
    stream = b"".join(parts)
    said = answered(raw, database, [stream])
    assert kinds(said) == "RSKZ" + "CZ" + "GCZ" + "12TDDCZ" + "EZ" + "HddcCZ"
    assert answered(raw, database, (stream[i : i + 1] for i in range(len(stream)))) == said


def test_answers_to_any_bytes(raw: Any, database: Any) -> None:
    """The same answers however the bytes are cut, and none of them an internal error."""
    chosen = random.Random(5)
    base = [
        raw.query(b"select 1"),
        raw.query(b"copy kv to stdout"),
        raw.query(b"copy kv(k) from stdin"),
        raw.query(b"begin"),
        raw.parse(b"", b"select $1::int", [23]),
        raw.bind(b"", b"", [b"\0\0\0\1"], [1], [1]),
        raw.describe(b"P"),
        raw.execute(),
        raw.SYNC,
        raw.message(b"d", b"nonsense\n"),
        raw.message(b"c"),
        raw.message(b"f", b"x\0"),
    ]
    states = set()
    for _ in range(100):
        stream = b"".join(_mutated(chosen.choice(base), chosen) for _ in range(chosen.randint(1, 8)))
        said = answered(raw, database, [stream])
        cut = chosen.randrange(len(stream))
        assert answered(raw, database, [stream[:cut], stream[cut:]] if cut else [stream]) == said, stream
        assert b"XX000" not in said, stream
        states |= {kind for kind in kinds(said)}
    assert set("EZTDC12GH") <= states


def _mutated(packet: bytes, chosen: random.Random) -> bytes:
    if chosen.random() < 0.7:
        return packet
    changed = bytearray(packet)
    changed[chosen.randrange(len(changed))] = chosen.getrandbits(8)
    return bytes(changed)


def test_a_copy_that_is_cancelled_within_a_message(raw: Any, database: Any) -> None:
    """What the client still sends of it is dropped, the rest of the message that had begun too."""
    database.duckdb.execute("create or replace table cw(a int)")
    data = raw.message(b"d", b"1\n" * 1000)
    pieces = [raw.query(b"copy cw from stdin"), data[:500], data[500:], raw.message(b"c"), raw.query(b"select 1")]
    channel = MemoryChannel(pieces)
    channel.protocol.receive(raw.startup())
    channel.protocol.next_packet()
    session = database.open(StartupParameters("u", "db"))
    real_receive = channel.receive

    def receive() -> None:
        real_receive()
        if channel.protocol.phase is Phase.COPY_IN:
            session.cancel()

    channel.receive = receive  # type: ignore[method-assign]
    with pytest.raises(Hangup):
        converse(Responder(session, channel))
    assert kinds(channel.said) == "GEZTDCZ"
    assert QueryCanceled.sqlstate.encode() in channel.said


def test_a_server_that_ends_says_so_instead_of_the_error(raw: Any, database: Any) -> None:
    channel = MemoryChannel([raw.query(b"select * from nope")])
    channel.protocol.receive(raw.startup())
    channel.protocol.next_packet()
    channel.ending = AdminShutdown("terminating connection due to administrator command")
    with pytest.raises(Fatal, match="terminating connection"):
        converse(Responder(database.open(StartupParameters("u", "db")), channel))
    assert channel.said == b""


def test_what_is_due_when() -> None:
    limits = Limits(startup_timeout=60)
    activity = Activity(100.0)
    assert [activity.due(now, limits) for now in (100, 160, 160.5)] == [Due.NOTHING, Due.NOTHING, Due.CUT]
    activity.start(161)
    assert (activity.due(161, limits), activity.rest_seconds(171)) == (Due.REST, 10)
    activity.work()
    assert (activity.due(1e9, limits), activity.rest_seconds(1e9)) == (Due.LOOK, 0)
    activity.rest(200)
    assert (activity.due(211, limits), activity.rest_seconds(211)) == (Due.REST, 11)


def test_only_what_is_busy_is_cancelled() -> None:
    activity, cancelled = Activity(0), []
    activity.cancel(lambda: cancelled.append(1))
    activity.work()
    activity.cancel(lambda: cancelled.append(2))
    activity.rest(1, lambda: cancelled.append(3))
    activity.cancel(lambda: cancelled.append(4))
    assert cancelled == [2, 3]
