"""Turns of queries: so many compute at a time, in the order in which they came, and who idles lends his."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from risingpy.functions.evaluation.admission import IDLE_SECONDS, Admission

_DEADLINE = 10.0


class Cancelled(Exception):
    """What a look raises."""


class Query:
    """A query in a thread of its own: it waits for a turn, and computes until it is told to stop."""

    def __init__(self, admission: Admission, *, idles: bool = False) -> None:
        self.has_turn, self.may_end, self.is_cancelled = threading.Event(), threading.Event(), threading.Event()
        self.was_cancelled = False
        self.looks = 0
        self._calls: list[Callable[[], None]] = []
        self._admission, self._idles = admission, idles
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def end(self) -> None:
        self.may_end.set()
        self._thread.join(_DEADLINE)

    def cancel(self) -> None:
        self.is_cancelled.set()
        for call in self._calls:
            call()

    @contextmanager
    def _calling(self, call: Callable[[], None]) -> Iterator[None]:
        self._calls.append(call)
        yield
        self._calls.remove(call)

    def _look(self) -> None:
        self.looks += 1
        if self.is_cancelled.is_set():
            raise Cancelled

    def _run(self) -> None:
        try:
            with self._admission.place(self._look, self._calling) as turn:
                if self._idles:
                    self.has_turn.set()
                    self.may_end.wait(_DEADLINE)
                with turn.working():
                    self.has_turn.set()
                    self.may_end.wait(_DEADLINE)
        except Cancelled:
            self.was_cancelled = True


def _wait_until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + _DEADLINE
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.005)


def _queue(admission: Admission, count: int) -> list[Query]:
    """Queries that came one after the other."""
    found = []
    for number in range(count):
        found.append(Query(admission))
        _wait_until(lambda number=number: admission.waiting + admission.having > number)  # type: ignore[misc]
    return found


def test_they_compute_in_their_order() -> None:
    admission = Admission(2)
    queries = _queue(admission, 6)
    for first in range(0, 6, 2):
        for query in queries[first : first + 2]:
            assert query.has_turn.wait(_DEADLINE)
        time.sleep(2 * IDLE_SECONDS)
        assert not any(query.has_turn.is_set() for query in queries[first + 2 :])
        for query in queries[first : first + 2]:
            query.end()
    assert admission.waiting == admission.having == 0


def test_one_that_is_cancelled_leaves_the_queue() -> None:
    admission = Admission(1)
    one, two, three = _queue(admission, 3)
    two.cancel()
    two.end()
    assert two.was_cancelled and not three.has_turn.is_set()
    one.end()
    assert three.has_turn.wait(_DEADLINE)
    three.end()
    assert admission.waiting == admission.having == 0


def test_only_the_first_that_waits_wakes_by_itself() -> None:
    admission = Admission(1)
    queries = _queue(admission, 8)
    time.sleep(0.5)
    assert queries[1].looks >= 3
    assert all(query.looks <= 2 for query in queries[2:])
    queries[1].cancel()  # then it is another one
    queries[1].end()
    time.sleep(0.5)
    assert queries[2].looks >= 4
    for query in queries:
        query.end()
        assert query.has_turn.is_set() is not query.was_cancelled
    assert admission.waiting == admission.having == 0


def test_one_that_idles_lends_its_turn_and_waits_for_another() -> None:
    admission = Admission(1)
    idle = Query(admission, idles=True)
    assert idle.has_turn.wait(_DEADLINE)
    busy = Query(admission)
    assert busy.has_turn.wait(_DEADLINE)
    idle.has_turn.clear()
    idle.may_end.set()
    assert not idle.has_turn.wait(2 * IDLE_SECONDS)
    busy.end()
    assert idle.has_turn.wait(_DEADLINE)
    idle.end()
    assert admission.waiting == admission.having == 0


def test_many() -> None:
    """No more than four compute at a time, and all get their turn."""
    admission, guard, most, now, done = Admission(4), threading.Lock(), [0], [0], [0]

    def run() -> None:
        for _ in range(5):
            with admission.place(lambda: None) as turn:
                for _ in range(3):
                    with turn.working():
                        with guard:
                            now[0] += 1
                            most[0] = max(most[0], now[0])
                        time.sleep(0.001)
                        with guard:
                            now[0] -= 1
        with guard:
            done[0] += 1

    threads = [threading.Thread(target=run) for _ in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert done == [40] and most[0] <= 4 and admission.having == admission.waiting == 0


def test_what_a_query_raises_ends_its_turn() -> None:
    admission = Admission(1)
    with (
        pytest.raises(ValueError, match="spoilt"),
        admission.place(lambda: None) as turn,
        turn.working(),
    ):
        raise ValueError("spoilt")
    assert admission.having == 0
