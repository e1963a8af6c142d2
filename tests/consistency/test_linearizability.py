"""The checker itself: histories of which the answer is known."""

from __future__ import annotations

import random
from math import inf

import pytest

from tests.consistency.linearizability import Operation, is_linearizable


def write(value: object, start: float, end: float = inf) -> Operation:
    return Operation(True, value, start, end)


def read(value: object, start: float, end: float = inf) -> Operation:
    return Operation(False, value, start, end)


@pytest.mark.parametrize(
    ("history", "expected"),
    [
        ([], True),
        ([read(None, 0, 1)], True),
        ([read(1, 0, 1)], False),
        ([write(1, 0, 1), read(1, 2, 3)], True),
        ([write(1, 0, 1), read(None, 2, 3)], False),  # a stale read
        ([write(1, 0, 3), read(None, 1, 2)], True),  # the write may take effect after the read
        ([write(1, 0, 5), read(1, 1, 2), read(None, 3, 4)], False),  # a write that is seen stays seen
        ([write(1, 0, 5), read(None, 1, 2), read(1, 3, 4)], True),
        ([write(1, 0, 1), write(2, 2, 3), read(1, 4, 5)], False),  # the older of two
        ([write(1, 0, 3), write(2, 1, 2), read(1, 4, 5)], True),  # which overlapped
        ([write(1, 0, 3), write(2, 1, 2), read(1, 4, 5), read(2, 6, 7)], False),
        ([write(1, 0), read(None, 1, 2), read(1, 3, 4)], True),  # unanswered, and happened late
        ([write(1, 0), read(None, 1, 2)], True),  # or never
        ([write(1, 0), read(1, 1, 2), read(None, 3, 4)], False),  # but not undone
        ([write(1, 0, 1), read(None, 2)], True),  # a read without an answer says nothing
    ],
)
def test_small_histories(history: list[Operation], expected: bool) -> None:
    assert is_linearizable(history) is expected


@pytest.mark.parametrize("seed", range(20))
def test_a_true_register_passes_and_one_stale_read_is_found(seed: int) -> None:
    """Operations of several clients overlap; each takes effect at a random time between its start and its end."""
    rng = random.Random(seed)
    spans = sorted((rng.uniform(0, 100), rng.uniform(0.1, 4)) for _ in range(150))
    points = sorted((start + rng.uniform(0, length), start, start + length) for start, length in spans)
    history: list[Operation] = []
    value: object = None
    for number, (_, start, end) in enumerate(points):
        is_write = rng.random() < 0.4
        value = number if is_write else value
        history.append(Operation(is_write, value, start, end))
    assert is_linearizable(history)
    first = next(each.value for each in history if each.is_write)
    assert not is_linearizable([*history, read(first, 200, 201), write("last", 150, 160)])
