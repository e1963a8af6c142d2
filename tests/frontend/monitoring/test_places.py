"""The places of an HTTP listener: who begins a request loses its place to others, whose request is whole keeps it."""

from __future__ import annotations

import http.client
import socket
import threading
import time
from collections.abc import Iterator
from http import HTTPStatus

import pytest

from risingpy.frontend.http_listener import HttpHandler, HttpListener

HOST = "127.0.0.1"
PLACES = 3
_SECONDS = 30.0


class Held:
    """Requests that are whole, and wait."""

    def __init__(self) -> None:
        self.came = threading.Semaphore(0)
        self.go_on = threading.Event()


class _Waiting(HttpHandler):
    def do_GET(self) -> None:
        self.server.has_request(self.request)
        self.close_connection = True
        if self.path == "/held":
            self.server.served.came.release()
            self.server.served.go_on.wait(_SECONDS)
        self.answer(HTTPStatus.OK, "done\n")


@pytest.fixture
def listener() -> Iterator[HttpListener]:
    made = HttpListener((HOST, 0), _Waiting, Held(), purpose="tests", request_seconds=_SECONDS, most_connections=PLACES)
    made.start()
    yield made
    made.served.go_on.set()
    made.stop()


def ask(listener: HttpListener, path: str) -> int:
    connection = http.client.HTTPConnection(HOST, listener.port, timeout=_SECONDS)
    try:
        connection.request("GET", path)
        return connection.getresponse().status
    finally:
        connection.close()


def served(listener: HttpListener) -> bool:
    """Whether a request is answered; the places of those before it are free when their threads have ended."""
    deadline = time.monotonic() + _SECONDS
    while (status := ask(listener, "/")) == 503 and time.monotonic() < deadline:
        time.sleep(0.01)
    return status == 200


def threads_end(left: int) -> bool:
    """Whether the threads of requests end until no more than `left` run."""
    deadline = time.monotonic() + _SECONDS
    while threading.active_count() > left and time.monotonic() < deadline:
        time.sleep(0.01)
    return threading.active_count() <= left


def test_who_says_nothing_has_no_place_and_is_sent_away_by_the_many(listener: HttpListener) -> None:
    silent = [socket.create_connection((HOST, listener.port), _SECONDS) for _ in range(5 * PLACES)]
    assert all(served(listener) for _ in range(3 * PLACES))
    assert silent[0].recv(1000) == b"", "the first to come is the first to go"
    for each in silent:
        each.close()


def test_a_whole_request_keeps_its_place(listener: HttpListener) -> None:
    answers: list[int] = []
    askers = [threading.Thread(target=lambda: answers.append(ask(listener, "/held"))) for _ in range(PLACES)]
    for asker in askers:
        asker.start()
    for _ in askers:
        assert listener.served.came.acquire(timeout=_SECONDS)
    assert ask(listener, "/") == 503
    listener.served.go_on.set()
    for asker in askers:
        asker.join()
    assert answers == [200] * PLACES


def test_many_who_send_a_byte_now_and_then_take_no_threads(listener: HttpListener) -> None:
    before = threading.active_count()
    slow = [socket.create_connection((HOST, listener.port), _SECONDS) for _ in range(3 * PLACES)]
    for piece in (b"GET / H", b"TTP/1.1\r\n", b"Host: here\r\n"):
        for each in slow:
            each.sendall(piece)
        assert all(served(listener) for _ in range(3))
    assert threads_end(before), "of the requests above"
    for each in slow:  # one after the other: of more than there are places, some would be answered 503
        each.sendall(b"Connection: close\r\n\r\n")
        assert b"200 OK" in each.recv(1000)
        assert threads_end(before), "and with each its place is free"
        each.close()


def test_a_request_in_one_piece_and_one_whose_client_says_no_more_are_answered(listener: HttpListener) -> None:
    with socket.create_connection((HOST, listener.port), _SECONDS) as whole:
        whole.sendall(b"GET / HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n")
        whole.shutdown(socket.SHUT_WR)
        assert b"200 OK" in whole.recv(1000)
    with socket.create_connection((HOST, listener.port), _SECONDS) as half:
        half.sendall(b"GET / HT")
        half.shutdown(socket.SHUT_WR)
        assert half.recv(1000) == b""


def test_a_head_that_is_late_is_answered_408() -> None:
    made = HttpListener((HOST, 0), _Waiting, Held(), purpose="tests", request_seconds=0.2, most_connections=PLACES)
    made.start()
    try:
        with socket.create_connection((HOST, made.port), _SECONDS) as late:
            late.sendall(b"GET / HTTP/1.1\r\n")
            assert late.recv(1000).startswith(b"HTTP/1.1 408")
    finally:
        made.stop()
