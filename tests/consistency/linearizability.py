"""Checks whether the history of a register is linearizable, by the search of Wing and Gong with Lowe's memory.

A history is linearizable if each operation can be given one point between its start and its end such that every read
gives the value of the last write before it. An operation that was never answered may have happened at any time after
its start, or not at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf


@dataclass(frozen=True, slots=True)
class Operation:
    """A read that gave `value`, or a write of it; times of one clock. `end` is infinite if no answer came."""

    is_write: bool
    value: object
    start: float
    end: float = inf


def is_linearizable(history: Sequence[Operation], initial: object = None) -> bool:
    """Whether some order of the operations explains what all reads gave."""
    operations = sorted(
        (each for each in history if each.is_write or each.end < inf), key=lambda operation: operation.start
    )
    answered = sum(1 << place for place, each in enumerate(operations) if each.end < inf)
    # The operations that have had their point, as bits, and the value after the last of them.
    left: list[tuple[int, object]] = [(0, initial)]
    seen = set(left)
    while left:
        done, value = left.pop()
        if done & answered == answered:
            return True
        for place in _next(operations, done):
            each = operations[place]
            if each.is_write or each.value == value:
                state = done | 1 << place, each.value
                if state not in seen:
                    seen.add(state)
                    left.append(state)
    return False


def _next(operations: Sequence[Operation], done: int) -> list[int]:
    """The operations that may have the next point: none of the others ended before they started."""
    first_end, found = inf, []
    for place, each in enumerate(operations):
        if done >> place & 1:
            continue
        if each.start > first_end:  # as do all that follow
            break
        first_end = min(first_end, each.end)
        found.append(place)
    return [place for place in found if operations[place].start <= first_end]
