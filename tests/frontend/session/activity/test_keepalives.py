"""tcp_keepalives_…: what a session asks for is what its socket has."""

from __future__ import annotations

import socket

import psycopg
import pytest

from risingpy.frontend.wire import WireServer
from tests.frontend.session.writes.short_writes import connect

_OPTIONS = (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT, socket.TCP_USER_TIMEOUT)


def _of_server(server: WireServer) -> list[int]:
    [connection] = server._open.all()
    return [connection.request.getsockopt(socket.IPPROTO_TCP, each) for each in _OPTIONS]


def test_what_is_set_is_what_the_socket_has(server: WireServer) -> None:
    with connect(server) as connection:
        connection.execute("SELECT 1")
        system = _of_server(server)
        connection.execute("SET tcp_keepalives_idle = 30")
        connection.execute("SET tcp_keepalives_interval = 7")
        connection.execute("SET tcp_keepalives_count = 4")
        connection.execute("SET tcp_user_timeout = '12s'")
        connection.execute("SELECT 1")
        assert _of_server(server) == [30, 7, 4, 12_000]
        assert connection.execute("SHOW tcp_keepalives_idle").fetchone() == ("30",)
        connection.execute("RESET tcp_keepalives_idle")
        connection.execute("BEGIN")
        connection.execute("SET LOCAL tcp_keepalives_count = 9")
        connection.execute("SELECT 1")
        assert _of_server(server) == [system[0], 7, 9, 12_000]
        connection.execute("COMMIT")
        connection.execute("SELECT 1")
        assert _of_server(server) == [system[0], 7, 4, 12_000]
        with pytest.raises(psycopg.errors.InvalidParameterValue):
            connection.execute("SET tcp_keepalives_count = 400")


def test_what_the_client_asks_for_at_its_start(server: WireServer) -> None:
    where = f"host=127.0.0.1 port={server.port} user=root dbname=dev options='-c tcp_keepalives_idle=55'"
    with psycopg.connect(where, autocommit=True) as connection:
        connection.execute("SELECT 1")
        assert _of_server(server)[0] == 55
