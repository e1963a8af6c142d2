"""The places of an HTTP listener: who begins a request loses its place to others, whose request is whole keeps it."""

from __future__ import annotations

import http.client
import socket
import threading
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


def test_who_says_nothing_loses_its_place(listener: HttpListener) -> None:
    silent = [socket.create_connection((HOST, listener.port), _SECONDS) for _ in range(3 * PLACES)]
    assert [ask(listener, "/") for _ in range(3 * PLACES)] == [200] * (3 * PLACES)
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
