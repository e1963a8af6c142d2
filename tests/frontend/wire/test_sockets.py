"""Sockets are waited for whatever their descriptor's number: a server of many connections has high ones."""

from __future__ import annotations

import fcntl
import resource
import socket
import time
from collections.abc import Iterator

import pytest

from risingpy.sockets import has_hung_up, is_readable

HIGH = 1024  # select() refuses descriptors from here on


@pytest.fixture(params=[0, HIGH], ids=["low", "high"])
def ends(request: pytest.FixtureRequest) -> Iterator[tuple[socket.socket, socket.socket]]:
    """The server's and the client's end of a connection; the server's descriptor is at least the parameter."""
    if resource.getrlimit(resource.RLIMIT_NOFILE)[0] <= HIGH + 1:
        pytest.skip("this process may not have so many descriptors")
    first, client = socket.socketpair()
    server = socket.socket(fileno=fcntl.fcntl(first, fcntl.F_DUPFD_CLOEXEC, request.param))
    first.close()
    assert server.fileno() >= request.param
    with server, client:
        yield server, client


def test_what_can_be_read(ends: tuple[socket.socket, socket.socket]) -> None:
    server, client = ends
    began = time.monotonic()
    assert not is_readable(server, 0.05)
    assert time.monotonic() - began >= 0.04
    client.send(b"x")
    assert is_readable(server, 5) and is_readable(server.fileno(), 5)


def test_who_has_hung_up(ends: tuple[socket.socket, socket.socket]) -> None:
    server, client = ends
    assert not has_hung_up(server)
    client.send(b"the rest")
    assert not has_hung_up(server), "what is sent meanwhile is no end"
    client.close()
    assert has_hung_up(server)
    server.close()
    assert not has_hung_up(server), "its own thread knows that"
