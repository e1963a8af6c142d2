"""Rows cancel only if their bytes are the same: values that SQL calls equal may be shown differently."""

from __future__ import annotations

import math

import pyarrow as pa
import pytest

from risingpy.executors.change_chunk import consolidated, make_chunk
from risingpy.types import DOUBLE, INTERVAL, REAL, SqlType, array_of, struct_of

MONTH, DAYS = pa.MonthDayNano((1, 0, 0)), pa.MonthDayNano((0, 30, 0))


def _left(type_: SqlType, before: object, after: object) -> int:
    chunk = make_chunk(pa.array([-1, 1], pa.int8()), [pa.array([before, after], type_.arrow)])
    return int(consolidated(chunk, [type_]).num_rows)


@pytest.mark.parametrize(
    ("type_", "before", "after"),
    [
        (DOUBLE, 0.0, -0.0),
        (REAL, 0.0, -0.0),
        (INTERVAL, MONTH, DAYS),
        (array_of(DOUBLE), [1.0, 0.0], [1.0, -0.0]),
        (array_of(INTERVAL), [MONTH], [DAYS]),
        (struct_of(["x"], [INTERVAL]), {"x": MONTH}, {"x": DAYS}),
        (DOUBLE, None, 0.0),
    ],
)
def test_equal_rows_that_are_not_the_same_stay(type_: SqlType, before: object, after: object) -> None:
    assert _left(type_, before, after) == 2
    assert _left(type_, before, before) == 0
    assert _left(type_, after, after) == 0


def test_one_nan_is_as_good_as_another() -> None:
    assert _left(DOUBLE, math.nan, -math.nan) == 0
