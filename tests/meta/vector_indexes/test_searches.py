"""Searches that a thread makes for others: those that wait share a call, and each has its own answer."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pytest

from risingpy.meta.vector_indexes.graph import VectorGraph
from risingpy.meta.vector_indexes.reals import RealForm
from risingpy.meta.vector_indexes.searches import Found, GraphSearches, Search
from risingpy.plan.catalog import NearestRule
from risingpy.types import INTEGER
from risingpy.types.packed.float_vector import column_of

INDEX = 5


class Asker:
    """Waits for its answers; `woken` counts how often it is told that there are some."""

    def __init__(self) -> None:
        self.answers: dict[bytes, Found | None] = {}
        self.woken = threading.Semaphore(0)

    def search(self, vector: bytes, count: int = 1) -> Search:
        def given(found: Found | None) -> Callable[[], None]:
            self.answers[vector] = found
            return self._wake

        return Search(INDEX, vector, count, 40, given)

    def _wake(self) -> None:
        self.woken.release()


def test_those_who_wait_share_a_call() -> None:
    calls: list[tuple[Sequence[bytes], int]] = []
    begun, go_on = threading.Event(), threading.Event()

    def find(index_id: int, vectors: Sequence[bytes], count: int, candidates: int) -> list[Found | None]:
        calls.append((vectors, count))
        begun.set()
        assert go_on.wait(30)
        return [None if vector == b"none" else Found([(vector,)], 7) for vector in vectors]

    searches, asker = GraphSearches(find), Asker()
    searches.ask(asker.search(b"a"))()
    assert begun.wait(30)
    for wake in {searches.ask(asker.search(vector, count)) for vector, count in ((b"b", 1), (b"none", 1), (b"c", 2))}:
        wake()
    go_on.set()
    for _ in range(3):
        assert asker.woken.acquire(timeout=30)
    assert calls == [([b"a"], 1), ([b"b", b"none"], 1), ([b"c"], 2)]
    assert asker.answers == {v: Found([(v,)], 7) for v in (b"a", b"b", b"c")} | {b"none": None}
    searches.close()


def test_a_failure_and_an_end_leave_nobody_waiting(caplog: pytest.LogCaptureFixture) -> None:
    def find(index_id: int, vectors: Sequence[bytes], count: int, candidates: int) -> list[Found | None]:
        raise RuntimeError("no memory")

    searches, asker = GraphSearches(find), Asker()
    searches.ask(asker.search(b"a"))()
    assert asker.woken.acquire(timeout=30)
    assert "no memory" in caplog.text
    wake = searches.ask(asker.search(b"b"))
    searches.close()
    wake()
    searches.ask(asker.search(b"c"))()
    assert asker.answers == {b"a": None, b"b": None, b"c": None}
    GraphSearches(find).close()


@pytest.mark.parametrize("form", RealForm)
def test_searches_together_find_what_each_finds_alone(form: RealForm) -> None:
    """Also where a vector among them is one that the graph cannot hold, and where it is the only one it can."""
    vectors = np.random.default_rng(1).standard_normal((300, 6)).astype(np.float32)
    graph = VectorGraph(NearestRule("l2_distance"), 6, [INTEGER], form)
    empty = graph.nearest_to_each([b"\x80\0\0\0" * 6] * 3, 2, 40, 2)
    assert empty == [[], [], []]
    graph.add([pa.array(np.arange(300), pa.int32())], column_of(vectors.ravel(), np.arange(301) * 6))
    far = np.full((1, 6), 70_000, np.float32)
    asked = [column_of(each.ravel(), np.array([0, 6]))[0].as_py() for each in (vectors[3], far, *vectors[10:30])]
    for some in (asked, asked[:2], asked[1:2], asked[2:]):
        alone = [graph.nearest(each, 5, 40) for each in some]
        assert graph.nearest_to_each(some, 5, 40, 2) == alone
    assert graph.nearest(asked[0], 1, 40) == [(3,)]
    assert graph.seconds_of(40) > 0
