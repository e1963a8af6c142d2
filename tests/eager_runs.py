"""Sorted runs (`storage.stored_rows`) wherever there can be some: tests have few rows, which would lie in the tree."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from unittest import mock

from risingpy.storage.engine import stored_rows
from risingpy.storage.engine.shard_writer import ReadInOrder


def make_runs_eager() -> None:
    """For this process, for good: every batch of a table that is not read in order in its transaction becomes runs."""
    for name, value in _EAGER.items():
        setattr(stored_rows, name, value)
    ReadInOrder.MEMORY = -1


@contextmanager
def eager_runs() -> Iterator[None]:
    """The same for a while."""
    with ExitStack() as stack:
        for name, value in _EAGER.items():
            stack.enter_context(mock.patch.object(stored_rows, name, value))
        stack.enter_context(mock.patch.object(ReadInOrder, "MEMORY", -1))
        yield


_EAGER = {
    "LEAST_ROWS": 1,
    "LEAST_TIMES": 0,
    "LEAST_SLICES": 0,
    "GAP": 0,  # everything is far from everything
    "WAITING_PART": 0.25,  # what the table held before the epoch, four times
    "MOST_RUNS": 3,
    "SMALL_RUN": 3,
}
