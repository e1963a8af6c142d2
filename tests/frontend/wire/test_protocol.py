"""The protocol, message by message, over a raw socket."""

from __future__ import annotations

import socket
import struct
from typing import Any

import pytest

from risingpy.frontend.wire import WireServer
from risingpy.sockets import is_readable


def test_encryption_is_declined_and_startup_goes_on(server: WireServer, raw: Any) -> None:
    with raw.RawClient(server.port, hello=False) as client:
        for code in (80877103, 80877104):
            client.send(struct.pack("!II", 8, code))
            assert client.socket.recv(1) == b"N"
        client.send(raw.startup())
        kinds = "".join(kind for kind, _ in client.until("Z"))
        assert kinds[0] == "R" and kinds[-2:] == "KZ" and set(kinds[1:-2]) == {"S"}


def test_newer_protocols_are_negotiated_down(server: WireServer, raw: Any) -> None:
    with raw.RawClient(server.port, hello=False) as client:
        client.send(raw.startup(196610, b"_pq_.foo\0bar\0"))
        kind, body = client.receive()
        assert (kind, body) == ("v", struct.pack("!ii", 0, 1) + b"_pq_.foo\0")
        assert client.until("Z")[-1] == ("Z", b"I")


@pytest.mark.parametrize(
    ("packet", "state"),
    [
        (struct.pack("!II", 4, 196608), "08P01"),
        (struct.pack("!I", 3), "08P01"),
        (struct.pack("!I", 0xFFFFFFF0), "08P01"),
        (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "08P01"),
        (struct.pack("!II", 9, 196608) + b"\0", "28000"),
        (struct.pack("!II", 9, 131072) + b"\0", "0A000"),
        (struct.pack("!II", 11, 196608) + b"a\0b", "08P01"),
    ],
)
def test_bad_startups_end_with_a_fatal_error(server: WireServer, raw: Any, packet: bytes, state: str) -> None:
    with raw.RawClient(server.port, hello=False) as client:
        client.send(packet)
        got = client.rest()
        assert [kind for kind, _ in got] == ["E"]
        fields = raw.fields_of(got[0][1])
        assert (fields["S"], fields["V"], fields["C"]) == ("FATAL", "FATAL", state)


@pytest.mark.parametrize(
    ("packet", "message"),
    [
        (b"?\0\0\0\4", "invalid frontend message type 63"),
        (b"Q\0\0\0\0", "invalid message length"),
        (b"Q\xff\xff\xff\xf0", "invalid message length"),
        (b"S\0\x10\0\0", "invalid message length"),
        (b"p\0\0\0\10abc\0", "invalid frontend message type 112"),
    ],
)
def test_garbage_ends_only_its_own_connection(server: WireServer, raw: Any, packet: bytes, message: str) -> None:
    with raw.RawClient(server.port) as other, raw.RawClient(server.port) as client:
        client.send(packet)
        got = client.rest()
        fields = raw.fields_of(got[-1][1])
        assert (fields["S"], fields["C"], fields["M"]) == ("FATAL", "08P01", message)
        assert other.kinds(raw.query(b"select 1")) == "TDCZ"


def test_half_a_message_ends_silently(server: WireServer, raw: Any) -> None:
    with raw.RawClient(server.port) as client:
        client.send(b"Q\0\0\0\x20select")
        client.socket.shutdown(socket.SHUT_WR)
        assert client.rest() == []


def test_queries_that_are_no_text(server: WireServer, raw: Any) -> None:
    with raw.RawClient(server.port) as client:
        for body in (b"", b"select 7", b"select 7\0 more\0", b"select '\xff\xfe'\0"):
            assert client.kinds(raw.message(b"Q", body)) == "EZ"
        assert client.kinds(raw.query(b"")) == "IZ"
        assert client.kinds(raw.query(b"select 1; select 2")) == "TDCTDCZ"


def test_extended_protocol(server: WireServer, raw: Any) -> None:
    with raw.RawClient(server.port) as c:
        assert (
            c.kinds(raw.parse(b"", b"select 1 as a"), raw.bind(b"", b""), raw.describe(b"P"), raw.execute(), raw.SYNC)
            == "12TDCZ"
        )
        assert c.kinds(raw.parse(b"s", b"select $1 as a"), raw.describe(b"S", b"s"), raw.SYNC) == "1tTZ"
        assert c.kinds(raw.parse(b"s", b"select 2"), raw.SYNC) == "EZ"
        assert c.kinds(raw.close(b"S", b"s"), raw.close(b"S", b"nope"), raw.SYNC) == "33Z"
        assert c.kinds(raw.parse(b"", b""), raw.bind(b"", b""), raw.describe(b"P"), raw.execute(), raw.SYNC) == "12nIZ"
        assert c.kinds(raw.parse(b"", b"select 1; select 2"), raw.SYNC) == "EZ"
        assert c.kinds(raw.bind(b"", b"nope"), raw.execute(), raw.SYNC) == "EZ"
        assert c.kinds(raw.execute(b"nope"), raw.SYNC) == "EZ"
        assert c.kinds(raw.message(b"F", b"\0" * 10)) == "EZ"
        assert c.kinds(raw.message(b"d", b"stray"), raw.message(b"c"), raw.query(b"select 1")) == "TDCZ"


def test_describe_runs_nothing(server: WireServer, database: Any, raw: Any) -> None:
    with raw.RawClient(server.port) as client:
        client.kinds(raw.query(b"create or replace table dn(a int)"))
        database.executed.clear()
        insert = b"insert into dn values (1)"
        described = client.kinds(raw.parse(b"i", insert), raw.describe(b"S", b"i"), raw.SYNC)
        assert (described, database.executed) == ("1tnZ", [])
        assert client.kinds(raw.bind(b"", b"i"), raw.describe(b"P"), raw.execute(), raw.SYNC) == "2nCZ"
        assert database.executed == [insert.decode()]


def test_an_error_skips_to_sync(server: WireServer, raw: Any) -> None:
    with raw.RawClient(server.port) as client:
        good = [raw.parse(b"", b"select 5"), raw.bind(b"", b""), raw.execute()]
        assert client.kinds(raw.parse(b"", b"select * from nope"), *good, raw.query(b"select 1"), raw.SYNC) == "EZ"
        assert client.kinds(*good, raw.SYNC) == "12DCZ"


def test_row_limits_suspend_a_portal(server: WireServer, raw: Any) -> None:
    with raw.RawClient(server.port) as client:
        sql = raw.parse(b"", b"select * from range(5) t(i)")
        limited = [raw.execute(b"p", 2)] * 3
        assert client.kinds(sql, raw.bind(b"p", b""), *limited, raw.execute(b"p"), raw.SYNC) == "12DDsDDsDCCZ"
        # Outside a transaction block the portal does not outlive the Sync.
        assert client.kinds(raw.execute(b"p", 2), raw.SYNC) == "EZ"
        assert client.kinds(raw.query(b"begin")) == "CZ"
        assert client.kinds(sql, raw.bind(b"p", b""), raw.execute(b"p", 2), raw.SYNC) == "12DDsZ"
        assert client.kinds(raw.execute(b"p", 2), raw.SYNC) == "DDsZ"
        assert client.kinds(raw.bind(b"p", b""), raw.SYNC) == "EZ"
        assert client.kinds(raw.query(b"rollback")) == "CZ"
        big = raw.parse(b"", b"select * from range(100000) t(i)")
        assert client.kinds(
            big, raw.bind(b"p", b""), raw.execute(b"p", 70_000), raw.execute(b"p", 70_000), raw.SYNC
        ) == ("12" + "D" * 70_000 + "s" + "D" * 30_000 + "CZ")


def test_a_rebound_portal_gives_the_new_rows(server: WireServer, raw: Any) -> None:
    with raw.RawClient(server.port) as client:
        client.send(raw.parse(b"", b"select $1::int as a", [23]), raw.bind(b"", b"", [b"1"]), raw.describe(b"P"))
        client.send(raw.bind(b"", b"", [b"2"]), raw.execute(), raw.SYNC)
        rows = [body for kind, body in client.until("Z") if kind == "D"]
        assert rows == [b"\0\1\0\0\0\1" + b"2"]


def test_parameter_errors(server: WireServer, raw: Any) -> None:
    with raw.RawClient(server.port) as client:
        client.kinds(raw.parse(b"s", b"select $1::int + $2::int", [23, 23]), raw.SYNC)

        def state(*arguments: Any) -> str:
            client.send(raw.bind(b"", b"s", *arguments), raw.SYNC)
            kind, body = client.until("Z")[0]
            return str(raw.fields_of(body)["C"]) if kind == "E" else kind

        assert state([b"1"]) == "08P01"
        assert state([b"1", b"2"], [0, 0, 0]) == "08P01"
        assert state([b"1", b"2"], [7]) == "22023"
        assert state([b"1", b"x"]) == "22P02"
        assert state([b"1", b"99999999999"]) == "22003"
        assert state([b"\0\0\0\1", b"\0\1"], [1]) == "22P03"
        assert state([b"1", b"\xff"]) == "22021"
        assert state([b"1", None], [], [0, 1]) == "08P01"
        assert state([b"1", b"\0\0\0\2"], [0, 1], [1]) == "2"


def test_bad_copy_is_answered_once(server: WireServer, raw: Any) -> None:
    with raw.RawClient(server.port) as client:
        client.kinds(raw.query(b"create or replace table bc(a int)"))
        data = [raw.message(b"d", b"x\n"), raw.message(b"d", b"2\n"), raw.message(b"c")]
        assert client.kinds(raw.query(b"copy bc from stdin"), *data, raw.query(b"select 1"), syncs=2) == "GEZTDCZ"
        failed = client.kinds(raw.query(b"copy bc from stdin"), raw.message(b"f", b"no\0"))
        assert failed == "GEZ"
        extended = [raw.parse(b"", b"copy bc from stdin"), raw.bind(b"", b""), raw.execute(), raw.message(b"d", b"3\n")]
        assert client.kinds(*extended, raw.message(b"c"), raw.SYNC) == "12GCZ"
        client.send(raw.query(b"copy bc from stdin"), raw.query(b"select 1"))
        fields = raw.fields_of(client.rest()[-1][1])
        assert (fields["S"], fields["C"]) == ("FATAL", "08P01")


def test_cancel_needs_the_key(server: WireServer, raw: Any) -> None:
    with raw.RawClient(server.port) as client:
        key = next(body for kind, body in client.greeting if kind == "K")
        client.send(raw.query(b"select pg_sleep(3)"))
        wrong = key[:4] + bytes(byte ^ 1 for byte in key[4:])
        attempt = wrong
        while not is_readable(client.socket, 0.1):  # once may be before the query has begun
            with raw.RawClient(server.port, hello=False) as canceller:
                canceller.send(struct.pack("!II", 16, 80877102) + attempt)
                assert canceller.rest() == []
            attempt = key
        assert raw.fields_of(client.until("E")[-1][1])["C"] == "57014"
        assert client.kinds(raw.query(b"select 1"), syncs=2) == "ZTDCZ"


def test_a_malformed_bind_of_an_unknown_statement(server: WireServer, raw: Any) -> None:
    """As in PostgreSQL, the statement is looked up before the arguments are read."""
    with raw.RawClient(server.port) as client:
        client.kinds(raw.parse(b"known", b"select 1"), raw.SYNC)
        for name, state in ((b"unknown", "26000"), (b"known", "08P01")):
            client.send(raw.message(b"B", b"\0" + name + b"\0\0\1"), raw.SYNC)
            assert raw.fields_of(client.until("Z")[0][1])["C"] == state


def test_a_cancelled_copy_drops_the_rest_of_its_message(server: WireServer, raw: Any) -> None:
    with raw.RawClient(server.port) as client:
        client.kinds(raw.query(b"create or replace table cc(a int)"))
        data = raw.message(b"d", b"1\n" * 5000)
        client.send(raw.query(b"copy cc from stdin"), data[:100])
        assert client.until("G")[-1][0] == "G"
        key = next(body for kind, body in client.greeting if kind == "K")
        with raw.RawClient(server.port, hello=False) as canceller:
            canceller.send(struct.pack("!II", 16, 80877102) + key)
            canceller.rest()
        assert [kind for kind, _ in client.until("Z")] == ["E", "Z"]
        assert client.kinds(data[100:], raw.message(b"c"), raw.query(b"select 1")) == "TDCZ"
