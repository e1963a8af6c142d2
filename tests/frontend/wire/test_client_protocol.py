"""The protocol's state machine alone: bytes in, events out, no socket."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from typing import Any

import pytest

from risingpy.errors import SqlError
from risingpy.frontend.wire.byte_queue import ByteQueue
from risingpy.frontend.wire.client_messages import (
    Arguments,
    Bind,
    Close,
    CopyData,
    CopyDone,
    CopyFail,
    DescribeMessage,
    ExecuteMessage,
    FlushMessage,
    FunctionCall,
    Malformed,
    Parse,
    QueryMessage,
    Sync,
    Target,
    Terminate,
)
from risingpy.frontend.wire.endings import Fatal, Hangup
from risingpy.frontend.wire.limits import MAX_CONTROL_BYTES, MAX_STARTUP_BYTES
from risingpy.frontend.wire.protocol import ClientProtocol, Phase
from risingpy.frontend.wire.startup import CancelRequest, EncryptionRequest, StartupMessage

LIMIT = 100_000
TERMINATE = b"X\0\0\0\4"


def started(raw: Any) -> ClientProtocol:
    """A machine of an open session."""
    protocol = ClientProtocol(LIMIT)
    protocol.receive(raw.startup())
    assert isinstance(protocol.next_packet(), StartupMessage)
    return protocol


def said(protocol: ClientProtocol, *parts: bytes) -> list[Any]:
    """The messages that are whole, once these bytes have come."""
    for part in parts:
        protocol.receive(part)
    events: list[Any] = []
    while protocol.phase is not Phase.TERMINATED and (event := protocol.next_message()) is not None:
        events.append(event)
    return events


# What each phase takes


def test_packets_of_a_start(raw: Any) -> None:
    protocol = ClientProtocol(LIMIT)
    assert (protocol.phase, protocol.next_packet()) == (Phase.STARTUP, None)
    protocol.receive(struct.pack("!II", 8, 80877103) + struct.pack("!II", 8, 80877104) + raw.startup(196610)[:-3])
    assert [protocol.next_packet() for _ in range(3)] == [
        EncryptionRequest(tls=True),
        EncryptionRequest(tls=False),
        None,
    ]
    protocol.receive(raw.startup(196610)[-3:])
    assert protocol.next_packet() == StartupMessage("u", "db", {}, 2, ())
    assert protocol.phase is Phase.IDLE


def test_a_cancel_request_ends_its_connection() -> None:
    protocol = ClientProtocol(LIMIT)
    protocol.receive(struct.pack("!III", 16, 80877102, 77) + b"\1\2\3\4")
    assert protocol.next_packet() == CancelRequest(77, b"\1\2\3\4")
    assert protocol.phase is Phase.TERMINATED


def test_encryption_is_asked_for_three_times_at_most() -> None:
    protocol = ClientProtocol(LIMIT)
    protocol.receive(struct.pack("!II", 8, 80877103) * 4)
    assert [protocol.next_packet() for _ in range(3)] == [EncryptionRequest(tls=True)] * 3
    with pytest.raises(Fatal, match="too many encryption requests"):
        protocol.next_packet()


@pytest.mark.parametrize("length", [0, 7, MAX_STARTUP_BYTES + 5, 0xFFFFFFFF])
def test_a_length_that_no_packet_has_is_refused_before_its_bytes_come(length: int) -> None:
    protocol = ClientProtocol(LIMIT)
    protocol.receive(struct.pack("!I", length))
    with pytest.raises(Fatal, match="invalid length of startup packet"):
        protocol.next_packet()
    assert protocol.phase is Phase.TERMINATED


def test_every_message_of_a_session(raw: Any) -> None:
    assert said(
        started(raw),
        raw.query(b"select 1"),
        raw.parse(b"s", b"select $1", [23]),
        raw.bind(b"p", b"s", [b"1", None], [0, 1], [1]),
        raw.describe(b"S", b"s"),
        raw.describe(b"P", b"p"),
        raw.execute(b"p", 5),
        raw.close(b"P", b"p"),
        raw.FLUSH,
        raw.SYNC,
        raw.message(b"F", b"anything"),
        TERMINATE,
    ) == [
        QueryMessage("select 1"),
        Parse("s", "select $1", [23]),
        Bind("p", "s", Arguments([0, 1], [b"1", None], [1])),
        DescribeMessage(Target.STATEMENT, "s"),
        DescribeMessage(Target.PORTAL, "p"),
        ExecuteMessage("p", 5),
        Close(Target.PORTAL, "p"),
        FlushMessage(),
        Sync(),
        FunctionCall(),
        Terminate(),
    ]


def test_phases_of_a_session(raw: Any) -> None:
    protocol = started(raw)
    for part, phase in [
        (raw.query(b"select 1"), Phase.IDLE),
        (raw.FLUSH, Phase.IDLE),
        (raw.parse(b"", b""), Phase.SERIES),
        (raw.FLUSH, Phase.SERIES),
        (raw.SYNC, Phase.IDLE),
        (raw.execute(), Phase.SERIES),
        (raw.query(b"select 1"), Phase.IDLE),
        (raw.message(b"D", b"X\0"), Phase.SKIPPING),
        (raw.SYNC, Phase.IDLE),
        (TERMINATE, Phase.TERMINATED),
    ]:
        assert len(said(protocol, part)) == 1
        assert protocol.phase is phase


def test_after_a_failure_all_is_dropped_up_to_sync(raw: Any) -> None:
    protocol = started(raw)
    [malformed] = said(protocol, raw.message(b"P", b"no end"), raw.execute(), raw.query(b"select 1"), raw.FLUSH)
    assert isinstance(malformed, Malformed) and malformed.in_series
    assert said(protocol, raw.message(b"p", b"pw\0"), raw.SYNC, raw.execute()) == [Sync(), ExecuteMessage("", 0)]
    protocol.skip_to_sync()
    assert said(protocol, raw.execute(), raw.message(b"F"), raw.SYNC, raw.query(b"")) == [Sync(), QueryMessage("")]
    protocol.skip_to_sync()
    assert said(protocol, raw.execute(), TERMINATE) == [Terminate()]


def test_a_query_that_is_malformed_ends_no_series(raw: Any) -> None:
    protocol = started(raw)
    for body in (b"", b"no end", b"two\0ends\0", b"\xff\0"):
        [malformed, query] = said(protocol, raw.message(b"Q", body), raw.query(b"x"))
        assert isinstance(malformed, Malformed) and not malformed.in_series
        assert query == QueryMessage("x")


def test_copy_in_and_what_a_failed_copy_leaves(raw: Any) -> None:
    data, done, fail = raw.message(b"d", b"1\n"), raw.message(b"c"), raw.message(b"f", b"enough\0")
    protocol = started(raw)
    assert said(protocol, data, done, fail, raw.query(b"copy")) == [QueryMessage("copy")]
    protocol.begin_copy()
    protocol.receive(data + raw.SYNC + raw.FLUSH + data + done + raw.query(b"x"))
    assert [protocol.next_copy_message() for _ in range(3)] == [CopyData(b"1\n"), CopyData(b"1\n"), CopyDone()]
    protocol.end_copy()
    assert said(protocol) == [QueryMessage("x")]
    protocol.begin_copy()
    protocol.receive(data + fail)
    assert [protocol.next_copy_message() for _ in range(2)] == [CopyData(b"1\n"), CopyFail("enough")]
    assert protocol.phase is Phase.IDLE
    assert said(protocol, raw.execute()) == [ExecuteMessage("", 0)]
    protocol.begin_copy()
    protocol.end_copy()
    protocol.skip_to_sync()
    assert said(protocol, data, done, raw.execute(), raw.SYNC) == [Sync()]


def test_a_copy_that_fails_within_a_message_drops_its_rest(raw: Any) -> None:
    protocol = started(raw)
    protocol.begin_copy()
    data = raw.message(b"d", b"x" * 50_000)
    protocol.receive(data[:20_000])
    assert protocol.next_copy_message() is None
    protocol.end_copy()
    assert said(protocol) == []
    assert protocol.kept_bytes == 0
    assert said(protocol, data[20_000:], raw.query(b"x")) == [QueryMessage("x")]


@pytest.mark.parametrize("kind", [b"Q", b"P", b"X", b"p", b"F"])
def test_what_may_not_come_within_a_copy(raw: Any, kind: bytes) -> None:
    protocol = started(raw)
    protocol.begin_copy()
    protocol.receive(raw.message(kind, b"\0\0\0"))
    with pytest.raises(Fatal, match=rf"unexpected message type 0x{kind[0]:02X} during COPY from stdin"):
        protocol.next_copy_message()


@pytest.mark.parametrize(
    ("header", "message"),
    [
        (b"?\0\0\0\4", "invalid frontend message type 63"),
        (b"\0\0\0\0\4", "invalid frontend message type 0"),
        (b"p\0\0\0\4", "invalid frontend message type 112"),
        (b"Q\0\0\0\3", "invalid message length"),
        (b"Q" + struct.pack("!I", LIMIT + 5), "invalid message length"),
        (b"E" + struct.pack("!I", MAX_CONTROL_BYTES + 5), "invalid message length"),
        (b"d\xff\xff\xff\xff", "invalid message length"),
    ],
)
def test_a_header_that_no_message_has(raw: Any, header: bytes, message: str) -> None:
    protocol = started(raw)
    protocol.receive(header)
    with pytest.raises(Fatal, match=message):
        protocol.next_message()


def test_the_end_of_the_stream_comes_after_what_is_whole(raw: Any) -> None:
    protocol = started(raw)
    protocol.receive(raw.query(b"x") + raw.query(b"y")[:-1])
    protocol.receive(b"")
    assert protocol.next_message() == QueryMessage("x")
    with pytest.raises(Hangup):
        protocol.next_message()
    assert protocol.phase is Phase.TERMINATED


def test_sync_is_next(raw: Any) -> None:
    protocol = started(raw)
    protocol.receive(raw.execute())
    assert not protocol.sync_is_next
    protocol.next_message()
    assert not protocol.sync_is_next
    protocol.receive(raw.SYNC)
    assert protocol.sync_is_next


@pytest.mark.parametrize("piece", [1, 7, 5_000])
def test_memory_is_bounded_by_the_message(raw: Any, piece: int) -> None:
    """Neither dropped data nor data that comes in crumbs is kept beyond the bytes of one message."""
    protocol = started(raw)
    protocol.begin_copy()
    protocol.end_copy()  # it failed: all its data is dropped
    data = raw.message(b"d", bytes(LIMIT))
    for start in range(0, len(data), piece):
        protocol.receive(data[start : start + piece])
        assert protocol.next_message() is None
        assert protocol.kept_bytes < 5


def test_crumbs_are_gathered() -> None:
    queue = ByteQueue()
    for index in range(100_000):
        queue.append(bytes([index % 256]) * 3)
    assert len(queue._pieces) < 10
    assert queue.take(300_000) == b"".join(bytes([index % 256]) * 3 for index in range(100_000))


def test_a_queue_gives_what_it_took() -> None:
    chosen = random.Random(3)
    sizes: list[Callable[[], int]] = [lambda: chosen.randint(1, 9), lambda: chosen.randint(4_000, 9_000)]
    for _ in range(300):
        queue, model = ByteQueue(), b""
        for _ in range(chosen.randint(1, 40)):
            data = chosen.randbytes(chosen.choice(sizes)())
            queue.append(data)
            model += data
            assert len(queue) == len(model)
            assert queue.starts_with(model[:1])
            count = chosen.randint(0, len(model) + 3)
            if chosen.random() < 0.2:
                dropped = queue.drop(count)
                assert dropped == min(count, len(model))
                model = model[dropped:]
                continue
            taken = queue.take(count)
            assert taken == (None if count > len(model) else model[:count])
            model = model if taken is None else model[count:]


def test_malformed_errors_are_the_protocols(raw: Any) -> None:
    protocol = started(raw)
    for kind, body, state in [(b"P", b"\0\0\0\1", "08P01"), (b"D", b"Z\0", "08P01"), (b"B", b"\xff\0", "22021")]:
        [event] = said(protocol, raw.message(kind, body))
        assert isinstance(event, Malformed) and isinstance(event.error, SqlError)
        assert event.error.sqlstate == state
        assert said(protocol, raw.SYNC) == [Sync()]


def test_arguments_that_are_malformed_wait_for_their_statement(raw: Any) -> None:
    protocol = started(raw)
    for body in (b"", b"\0\0\0\1\0\0\0\5ab", b"\0\0\0\0\0\0too much"):
        [event] = said(protocol, raw.message(b"B", b"p\0s\0" + body))
        assert (event.portal, event.statement, event.arguments.sqlstate) == ("p", "s", "08P01")
        assert protocol.phase is Phase.SERIES
