"""Sockets are waited for whatever their descriptor's number: a server of many connections has high ones."""

from __future__ import annotations

import fcntl
import os
import resource
import socket
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from risingpy.sockets import MOST_BYTES, has_hung_up, is_readable, receive_at_once, send_at_once

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


def test_bytes_go_through_at_once(ends: tuple[socket.socket, socket.socket]) -> None:
    server, client = ends
    with pytest.raises(BlockingIOError):
        receive_at_once(server)
    client.send(b"\x00a question\x00")
    assert receive_at_once(server) == b"\x00a question\x00"
    assert send_at_once(server, b"\x00an answer") == 10 and client.recv(100) == b"\x00an answer"
    assert send_at_once(server, b"") == 0


def test_what_does_not_fit_is_sent_later(ends: tuple[socket.socket, socket.socket]) -> None:
    """Pieces of all sizes, until the system takes no more; all of them arrive."""
    server, client = ends
    sent = bytearray()
    for piece in (os.urandom(size) for size in (1, MOST_BYTES, MOST_BYTES + 1, 3 * MOST_BYTES) * 100):
        taken = send_at_once(server, piece)
        sent += piece[:taken]
        if taken < len(piece):
            break
    assert send_at_once(server, b"x" * 4096) == 0, "the system is full"
    client.setblocking(False)
    received = bytearray()
    while len(received) < len(sent):
        received += receive_at_once(client)
    assert received == sent


def test_ends_of_connections(ends: tuple[socket.socket, socket.socket]) -> None:
    server, client = ends
    client.send(b"the rest")
    client.close()
    assert receive_at_once(server) == b"the rest"
    assert receive_at_once(server) == b"" == receive_at_once(server)
    with pytest.raises(BrokenPipeError):
        send_at_once(server, b"x")
    server.close()
    with pytest.raises(OSError):
        receive_at_once(server)
    with pytest.raises(OSError):
        send_at_once(server, b"x")


def test_the_lock_is_kept(ends: tuple[socket.socket, socket.socket]) -> None:
    """Another thread, which wants the interpreter's lock all the time, gets on only when it is given up."""
    server, client = ends
    turns, is_over = [0], threading.Event()

    def turn() -> None:
        while not is_over.is_set():
            turns[0] += 1
            time.sleep(0)

    before = sys.getswitchinterval()
    other = threading.Thread(target=turn)
    other.start()
    try:
        sys.setswitchinterval(60.0)
        time.sleep(0.01)  # what was asked for at the shorter interval is over
        begun = turns[0]
        for _ in range(500):
            assert send_at_once(client, b"question") == 8
            assert receive_at_once(server) == b"question"
        assert begun and turns[0] == begun
        server.send(b"answer")
        time.sleep(0.01)
        assert turns[0] > begun, "it would have, all the time"
    finally:
        sys.setswitchinterval(before)
        is_over.set()
        other.join()
