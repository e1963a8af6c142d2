"""The server as a whole: ends, limits, hostile bytes."""

from __future__ import annotations

import random
import socket
import threading
import time
from typing import Any

import pytest

from risingpy.frontend.wire import CannotListen, Limits, WireServer


def test_a_port_in_use_is_named(server: WireServer, database: Any) -> None:
    second = WireServer("127.0.0.1", server.port, database.open)
    with pytest.raises(CannotListen, match=rf"could not listen on 127.0.0.1:{server.port}: Address already in use"):
        second.start()
    second.stop()


def test_stop_tells_every_client(database: Any, raw: Any) -> None:
    server = WireServer("127.0.0.1", 0, database.open)
    server.start()
    idle, busy = raw.RawClient(server.port), raw.RawClient(server.port)
    busy.send(raw.query(b"select pg_sleep(30)"))
    time.sleep(0.2)
    before = time.monotonic()
    server.stop()
    assert time.monotonic() - before < 10
    for client in (idle, busy):
        fields = raw.fields_of(client.rest()[-1][1])
        assert (fields["S"], fields["C"]) == ("FATAL", "57P01")
        assert fields["M"] == "terminating connection due to administrator command"
        client.socket.close()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", server.port))
    assert all(session.closed for session in database.sessions[-2:])


def test_too_many_clients(database: Any, raw: Any) -> None:
    server = WireServer("127.0.0.1", 0, database.open, limits=Limits(max_connections=2))
    server.start()
    try:
        with raw.RawClient(server.port) as first, raw.RawClient(server.port):
            with raw.RawClient(server.port) as third:
                assert raw.fields_of(third.greeting[-1][1])["C"] == "53300"
            assert first.kinds(raw.query(b"select 1")) == "TDCZ"
    finally:
        server.stop()


def test_slow_startups_and_idle_sessions_end(database: Any, raw: Any) -> None:
    limits = Limits(startup_timeout=0.2)
    server = WireServer("127.0.0.1", 0, database.open, limits=limits)
    server.start()
    try:
        with raw.RawClient(server.port, hello=False) as slow, raw.RawClient(server.port) as idle:
            database.sessions[-1].idles_for = 0.5
            slow.send(b"\0\0")
            assert slow.rest() == []
            assert raw.fields_of(idle.rest()[-1][1])["C"] == "57P05"
    finally:
        server.stop()


def test_a_statement_nobody_waits_for_is_cancelled(server: WireServer, database: Any, raw: Any) -> None:
    with raw.RawClient(server.port) as client:
        client.send(raw.query(b"select pg_sleep(60)"))
        time.sleep(0.2)
        session = database.sessions[-1]
    deadline = time.monotonic() + 5
    while not session.closed and time.monotonic() < deadline:
        time.sleep(0.05)
    assert session.closed


def test_sessions_are_released(server: WireServer, database: Any, raw: Any) -> None:
    before = len(database.sessions)
    for _ in range(20):
        raw.RawClient(server.port).socket.close()
    deadline = time.monotonic() + 5
    while not all(session.closed for session in database.sessions[before:]) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert len(database.sessions) - before == 20
    assert all(session.closed for session in database.sessions[before:])


def test_many_connections_at_once(server: WireServer, raw: Any) -> None:
    answers: list[str] = []

    def work() -> None:
        with raw.RawClient(server.port) as client:
            answers.append(client.kinds(raw.query(b"select 1")))

    threads = [threading.Thread(target=work) for _ in range(60)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=20)
    assert answers == ["TDCZ"] * 60


def test_mutated_messages(server: WireServer, raw: Any) -> None:
    """Whatever comes in: answers are whole messages, no error is internal, and the server goes on."""
    chosen = random.Random(7)
    base = [
        raw.query(b"select 1"),
        raw.query(b"copy kv to stdout"),
        raw.query(b"begin"),
        raw.query(b"copy kv from stdin"),
        raw.parse(b"s1", b"select $1::int", [23]),
        raw.bind(b"", b"s1", [b"\0\0\0\1"], [1], [1]),
        raw.describe(b"P"),
        raw.execute(),
        raw.close(b"S", b"s1"),
        raw.SYNC,
        raw.FLUSH,
        raw.message(b"d", b"1\tx\n"),
        raw.message(b"c"),
        raw.message(b"f", b"x\0"),
    ]
    states: set[str] = set()
    for _ in range(150):
        client = raw.RawClient(server.port, hello=False)
        data = raw.startup() if chosen.random() > 0.1 else b""
        for _ in range(chosen.randint(1, 10)):
            data += _mutated(bytearray(chosen.choice(base)), chosen)
        client.send(data)
        client.socket.shutdown(socket.SHUT_WR)
        client.socket.settimeout(5)
        states |= {raw.fields_of(body).get("C", "") for kind, body in client.rest() if kind == "E"}
        client.socket.close()
    assert "08P01" in states and "XX000" not in states, states
    with raw.RawClient(server.port) as last:
        assert last.kinds(raw.query(b"select 99")) == "TDCZ"


def _mutated(packet: bytearray, chosen: random.Random) -> bytes:
    kind = chosen.random()
    if kind < 0.4:
        for _ in range(chosen.randint(1, 4)):
            packet[chosen.randrange(len(packet))] = chosen.getrandbits(8)
    elif kind < 0.5:
        packet = packet[: chosen.randrange(len(packet))]
    elif kind < 0.55:
        packet = bytearray(chosen.randbytes(chosen.randint(1, 200)))
    return bytes(packet)
