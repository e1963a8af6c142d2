"""A bound that is an expression of now(): its value at any time, and when it passes a row's value."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from risingpy.functions.evaluation.evaluate import Evaluator
from risingpy.plan.expressions import Call, Expr, InputRef, Literal

_STEPS = 64  # how many times one query tries

Bounds = Callable[[Sequence[int]], list[int | None]]  # of times in milliseconds, in the units of the bound's type


class BoundOverTime:
    """The bound of a comparison with one of < <= > >=. Times are milliseconds since 1970."""

    def __init__(self, bound: Expr, comparison: str) -> None:
        self._evaluator = Evaluator(None, [bound])
        self._type = bound.type.arrow
        self._distance = _distance(bound)
        # < and >= change when the bound has passed the row's value, <= and > when it reaches it.
        self.at_value = comparison in ("<=", ">")

    def at(self, times: Sequence[int]) -> pa.Array:
        """The bound at each time."""
        micros = np.asarray(times, np.int64) * 1000
        if self._distance is not None:
            return pa.array(micros + self._distance).cast(self._type)
        moments = pa.array(micros).cast(pa.timestamp("us", "UTC"))
        chunk = pa.table([pa.array(np.ones(len(times), np.int8)), moments], names=["op", "c0"])
        rows, _ = self._evaluator.evaluate(chunk)
        return rows.column(1).combine_chunks().cast(self._type)

    def when_passed(self, value: int, after: int, horizon: int) -> int | None:
        """See `first_time`."""
        return first_time(self._bounds, value, at_value=self.at_value, after=after, horizon=horizon)

    def _bounds(self, times: Sequence[int]) -> list[int | None]:
        return [None if bound is None else int(bound) for bound in numbers(self.at(times)).to_pylist()]


def _distance(bound: Expr) -> int | None:
    """The microseconds from now() to the bound, where these are always the same: most bounds are a sum."""
    match bound:
        case Call(
            "timestamptz_minus" | "timestamptz_plus" as function,
            (InputRef(), Literal(pa.MonthDayNano() as length), *_),
        ) if not length.months and not length.days:
            micros = int(length.nanoseconds) // 1000
            return micros if function == "timestamptz_plus" else -micros
    return None


def first_time(bounds: Bounds, value: int, *, at_value: bool, after: int, horizon: int) -> int | None:
    """The first time in (`after`, `horizon`] at which the bound passes `value`, or, with `at_value`, reaches it.

    `bounds` computes the bound, which never falls in that interval, at several times. None if it stays below the value.
    """
    low, high = after, horizon
    (bound,) = bounds([after])
    # Most bounds move exactly as the time does. For these, this is the time.
    guess = after if bound is None else after + -(-(value + (not at_value) - bound) // 1000)
    times = sorted({t for t in (guess - 1, guess, *(after + (1 << k) for k in range(48)), high) if low < t <= high})
    while times:
        for time, bound in zip(times, bounds(times), strict=True):
            if bound is not None and (bound >= value if at_value else bound > value):
                high = time
                break
            low = time
        else:
            return None
        if high - low == 1:
            return high
        step = max(1, (high - low) // _STEPS)
        times = [*range(low + step, high, step), high]
    return None


def numbers(column: pa.Array) -> pa.Array:
    """Dates and timestamps as days or microseconds."""
    return column.cast(pa.int32() if pa.types.is_date32(column.type) else pa.int64())
