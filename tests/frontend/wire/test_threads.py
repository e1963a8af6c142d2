"""Which thread serves a client: none while it rests, one and the same within a transaction."""

from __future__ import annotations

import os
import socket
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from risingpy.frontend.wire import Limits, WireServer
from risingpy.frontend.wire.server import WORKER_THREADS
from risingpy.frontend.wire.threads.priority import NICENESS, StatementPriority, niceness
from risingpy.frontend.wire.threads.workers import Workers

_DEADLINE = 30.0
_REST = 0.1  # longer than a thread lingers


@pytest.fixture
def own_server(database: Any) -> Iterator[WireServer]:
    """A server whose threads end soon after their work."""
    made = WireServer("127.0.0.1", 0, database.open, limits=Limits(idle_worker=0.05))
    made.start()
    yield made
    made.stop()


def _wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _DEADLINE
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def _workers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == WORKER_THREADS]


def test_clients_at_rest_need_no_threads(own_server: WireServer, raw: Any) -> None:
    before = len(_workers())  # those of the module's server
    clients = [raw.RawClient(own_server.port) for _ in range(40)]
    for client in clients:
        assert client.kinds(raw.query(b"select 1")) == "TDCZ"
    _wait_until(lambda: len(_workers()) <= before)
    for client in clients:
        assert client.kinds(raw.query(b"select 2")) == "TDCZ"
        client.socket.close()


def test_a_transaction_keeps_its_thread(own_server: WireServer, database: Any, raw: Any) -> None:
    """Its locks are the thread's."""
    idents: list[int] = []
    with raw.RawClient(own_server.port) as client:
        session = database.sessions[-1]
        execute = session.execute

        def noted(*arguments: Any) -> Any:
            idents.append(threading.get_ident())
            return execute(*arguments)

        session.execute = noted
        for text in (b"begin", b"select 1", b"select 2", b"commit"):
            client.kinds(raw.query(text))
            time.sleep(_REST)
        assert len(set(idents)) == 1
        _wait_until(lambda: not _alive(idents[0]))
        assert client.kinds(raw.query(b"select 3")) == "TDCZ"


def _alive(ident: int) -> bool:
    return any(thread.ident == ident for thread in threading.enumerate())


def test_half_a_series_is_finished_after_a_rest(own_server: WireServer, raw: Any) -> None:
    with raw.RawClient(own_server.port) as client:
        time.sleep(_REST)
        client.send(raw.parse(b"s", b"select 1")[:3])
        time.sleep(_REST)
        client.send(raw.parse(b"s", b"select 1")[3:])
        time.sleep(_REST)
        client.send(raw.bind(b"", b"s", []) + raw.execute())
        time.sleep(_REST)
        assert client.kinds(raw.SYNC) == "12DCZ"


def test_a_client_that_goes_while_it_rests_is_noticed(own_server: WireServer, database: Any, raw: Any) -> None:
    with raw.RawClient(own_server.port) as client:
        session = database.sessions[-1]
        time.sleep(_REST)
        client.socket.shutdown(socket.SHUT_WR)
        _wait_until(lambda: session.closed)


def test_work_never_waits_for_other_work() -> None:
    workers, count = Workers("test-worker", 0.05), 20
    all_there = threading.Barrier(count + 1)
    for _ in range(3):
        for _ in range(count):
            workers.run(lambda: _wait(all_there))
        all_there.wait(_DEADLINE)
    _wait_until(lambda: not [thread for thread in threading.enumerate() if thread.name == "test-worker"])


def test_a_thread_without_work_keeps_nothing_of_its_last_one() -> None:
    """Not of its first one, either: a connection's session would stay as long as the thread."""

    class Served:
        def serve(self) -> None:
            pass

    workers, left = Workers("test-keeps", 60.0), list[weakref.ref[Served]]()
    for _ in range(3):
        served = Served()
        left.append(weakref.ref(served))
        workers.run(served.serve)
        del served
    _wait_until(lambda: all(each() is None for each in left))
    assert _of("test-keeps")


def _wait(barrier: threading.Barrier) -> None:
    barrier.wait(_DEADLINE)


class _Busy:
    """A thread that computes until it is told to end; `usual` is its niceness, `raised` what `end` said."""

    def __init__(self, workers: Workers) -> None:
        self.priority = StatementPriority()
        self.may_end, self.begun = threading.Event(), threading.Event()
        self.native_id = self.usual = 0
        self.raised: bool | None = None
        workers.run(self._work)
        assert self.begun.wait(_DEADLINE)

    def niceness(self) -> int:
        self.priority.lower_if_long()
        return os.getpriority(os.PRIO_PROCESS, self.native_id)

    def _work(self) -> None:
        self.native_id, self.usual = threading.get_native_id(), niceness()
        self.priority.begin()
        self.begun.set()
        while not self.may_end.is_set():
            pass
        self.raised = self.priority.end()


def _of(name: str) -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == name]


@pytest.mark.skipif(sys.platform != "linux", reason="threads have priorities on Linux only")
def test_a_long_statement_has_a_lower_priority_until_it_is_answered() -> None:
    busy = _Busy(Workers("test-priority", 60.0))
    assert busy.niceness() == busy.usual  # as yet
    _wait_until(lambda: busy.niceness() == busy.usual + NICENESS)
    busy.may_end.set()
    _wait_until(lambda: busy.raised is not None)
    if busy.raised:  # root may
        assert os.getpriority(os.PRIO_PROCESS, busy.native_id) == busy.usual
    else:
        _wait_until(lambda: not _of("test-priority"))


@pytest.mark.skipif(sys.platform != "linux", reason="threads have priorities on Linux only")
def test_a_thread_that_cannot_have_its_priority_back_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    busy = _Busy(Workers("test-ends", 60.0))
    _wait_until(lambda: busy.niceness() > busy.usual)

    def refuse(*arguments: int) -> None:
        raise PermissionError

    monkeypatch.setattr("os.setpriority", refuse)
    busy.may_end.set()
    _wait_until(lambda: not _of("test-ends"))
    assert busy.raised is False
