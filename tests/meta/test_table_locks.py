"""Locks of tables."""

from __future__ import annotations

import threading
import time

import pytest

from risingpy.errors import QueryCanceled
from risingpy.meta.table_locks import TableLock


def test_sharers_do_not_wait_for_each_other() -> None:
    lock = TableLock()
    with lock.shared():
        thread = threading.Thread(target=lambda: lock.shared().__enter__())
        thread.start()
        thread.join(timeout=2)
        assert not thread.is_alive()


def test_the_owner_may_come_again_and_share() -> None:
    lock = TableLock()
    with lock.exclusive(), lock.exclusive(), lock.shared():
        pass
    with lock.shared():
        pass


def test_an_exclusive_waiter_goes_before_new_sharers() -> None:
    lock, order = TableLock(), []

    def alone() -> None:
        with lock.exclusive():
            order.append("alone")

    def together() -> None:
        with lock.shared():
            order.append("together")

    with lock.shared():
        first = threading.Thread(target=alone)
        first.start()
        time.sleep(0.05)
        second = threading.Thread(target=together)
        second.start()
        time.sleep(0.05)
        assert order == []
    first.join()
    second.join()
    assert order == ["alone", "together"]


def test_a_waiter_can_be_cancelled() -> None:
    lock, cancelled = TableLock(), threading.Event()
    caught: list[BaseException] = []

    def wait() -> None:
        try:
            lock.acquire(cancelled)
        except QueryCanceled as error:
            caught.append(error)

    with lock.exclusive():
        thread = threading.Thread(target=wait)
        thread.start()
        cancelled.set()
        thread.join(timeout=2)
    assert [type(error) for error in caught] == [QueryCanceled]
    with lock.shared():  # the waiter that gave up blocks nobody
        pass


@pytest.mark.parametrize("writers", [4])
def test_exclusive_is_exclusive(writers: int) -> None:
    lock, inside, most = TableLock(), 0, 0

    def work() -> None:
        nonlocal inside, most
        for _ in range(50):
            with lock.exclusive():
                inside += 1
                most = max(most, inside)
                inside -= 1

    threads = [threading.Thread(target=work) for _ in range(writers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1
