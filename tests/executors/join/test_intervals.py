"""Pairs of intervals are found in sorted bounds: those that overlap, each once, and no other of ordered intervals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import date, timedelta
from decimal import Decimal
from random import Random

import numpy as np
import pyarrow as pa
import pytest

from risingpy.executors.join.intervals import overlapping
from risingpy.plan.expressions import Call, Expr, InputRef
from risingpy.plan.joins import IntervalOverlap, SideInterval, interval_overlap
from risingpy.types import BIGINT, BOOLEAN, DOUBLE, VARCHAR

Bound = int | None
DAY = date(2026, 1, 1)
FORMS: dict[str, tuple[Callable[[int], object], pa.DataType]] = {
    "integers": (lambda value: value, pa.int64()),
    "days": (lambda value: DAY + timedelta(value), pa.date32()),
    "decimals": (lambda value: Decimal(value) / 4, pa.decimal128(10, 2)),
    "bytes": (lambda value: bytes([value + 100]), pa.binary()),
    "floats with NaN and -0": (
        lambda value: float("nan") if value == 9 else -0.0 if value == 0 else value / 2,
        pa.float64(),
    ),
}


def _side(random: Random, rows: int, *, ordered: bool) -> tuple[list[Bound], list[Bound], list[int]]:
    lows: list[Bound] = [random.randint(-9, 9) for _ in range(rows)]
    highs: list[Bound] = [random.randint(low if ordered else -9, 9) for low in lows]  # type: ignore[arg-type]
    for column in (lows, highs):
        for k in range(rows):
            if random.random() < 0.1:
                column[k] = None
    return lows, highs, [random.randrange(3) for _ in range(rows)]


def _overlap(low: Bound, high: Bound, other_low: Bound, other_high: Bound) -> bool:
    if low is None or high is None or other_low is None or other_high is None:
        return False
    return low <= other_high and other_low <= high


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("ordered", [True, False], ids=["ordered", "any"])
def test_pairs_are_those_of_all_pairs(form: str, *, ordered: bool) -> None:
    random = Random(form)
    write, type_ = FORMS[form]
    for _ in range(60):
        left, right = (_side(random, random.randint(0, 30), ordered=ordered) for _ in range(2))
        columns = [
            pa.array([None if value is None else write(value) for value in column], type_)
            for column in (*left[:2], *right[:2])
        ]
        codes = [np.array(side[2], np.int64) for side in (left, right)]
        limit = random.choice([1, 5, 1000])
        pieces = list(overlapping(columns[:2], codes[0], columns[2:], codes[1], limit))
        assert all(len(i) == len(j) <= limit for i, j in pieces)
        found = Counter(pair for i, j in pieces for pair in zip(i.tolist(), j.tolist(), strict=True))
        expected = Counter(
            (i, j)
            for i, one in enumerate(zip(*left, strict=True))
            for j, other in enumerate(zip(*right, strict=True))
            if one[2] == other[2] and _overlap(one[0], one[1], other[0], other[1])
        )
        assert not expected - found
        assert max(found.values(), default=1) == 1
        if ordered:
            assert found == expected


def test_short_intervals_make_few_candidates() -> None:
    """The work follows the pairs that there are, not all pairs."""
    begins = np.arange(20_000, dtype=np.int64) * 10
    codes = np.zeros(len(begins), np.int64)
    bounds = [pa.array(begins), pa.array(begins + 14)]
    candidates = sum(len(i) for i, _ in overlapping(bounds, codes, bounds, codes, 1 << 18))
    assert candidates == 20_000 + 2 * 19_999  # each with itself and its neighbours


def _column(k: int) -> InputRef:
    return InputRef(k, BIGINT)


def _all(*parts: Expr) -> Expr:
    found = parts[0]
    for part in parts[1:]:
        found = Call("and", (found, part), BOOLEAN)
    return found


def _compared(function: str, one: Expr, other: Expr) -> Expr:
    return Call(function, (one, other), BOOLEAN)


def test_intervals_are_found_in_a_condition() -> None:
    """Of two left columns and two right ones."""
    a, b, c, d = map(_column, range(4))
    overlap = IntervalOverlap(SideInterval(a, b), SideInterval(_column(0), _column(1)))
    assert interval_overlap(_all(_compared("le", a, d), _compared("lt", c, b)), 2) == overlap
    assert interval_overlap(_all(_compared("gt", d, a), _compared("ge", b, c)), 2) == overlap
    point = IntervalOverlap(SideInterval(a, b), SideInterval(_column(0), _column(0)))
    assert interval_overlap(_all(_compared("ge", c, a), _compared("le", c, b)), 2) == point
    contained = (_compared("le", a, c), _compared("le", d, b))  # it says less than the point in it
    assert interval_overlap(_all(*contained, _compared("le", c, b)), 2) == point


def test_other_conditions_have_no_intervals() -> None:
    a, b, c, d = map(_column, range(4))
    for condition in (
        None,
        _compared("le", a, c),
        _all(_compared("le", a, c), _compared("le", b, d)),  # both in one direction
        _all(_compared("le", a, b), _compared("le", c, d)),  # each within a side
        _all(_compared("eq", a, c), _compared("ge", b, d)),
    ):
        assert interval_overlap(condition, 2) is None
    texts = [InputRef(k, VARCHAR) for k in range(4)]
    assert interval_overlap(_all(_compared("le", texts[0], texts[3]), _compared("le", texts[2], texts[1])), 2) is None
    mixed = _all(_compared("le", a, d), _compared("ge", InputRef(1, DOUBLE), InputRef(2, DOUBLE)))
    assert interval_overlap(mixed, 2) is None
