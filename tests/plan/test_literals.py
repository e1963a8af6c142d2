"""Literals are equal if they are written alike: then one can stand for the other in any expression."""

from __future__ import annotations

from decimal import Decimal

import pytest

from risingpy.plan.expressions import Literal
from risingpy.types import DOUBLE, NUMERIC, array_of

NAN = float("nan")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (Literal(float("nan"), DOUBLE), Literal(NAN, DOUBLE)),
        (Literal(Decimal("NaN"), NUMERIC), Literal(Decimal("NaN"), NUMERIC)),
        (Literal((1.5, float("nan")), array_of(DOUBLE)), Literal((1.5, NAN), array_of(DOUBLE))),
        (Literal(Decimal("1.0"), NUMERIC), Literal(Decimal("1.0"), NUMERIC)),
    ],
)
def test_written_alike(first: Literal, second: Literal) -> None:
    assert first == second
    assert hash(first) == hash(second)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (Literal(0.0, DOUBLE), Literal(-0.0, DOUBLE)),
        (Literal(Decimal("1.0"), NUMERIC), Literal(Decimal("1.00"), NUMERIC)),
        (Literal((0.0,), array_of(DOUBLE)), Literal((-0.0,), array_of(DOUBLE))),
        (Literal((0.0,), array_of(DOUBLE)), Literal((0.0, 0.0), array_of(DOUBLE))),
        (Literal(1, NUMERIC), Literal(Decimal(1), NUMERIC)),
        (Literal(None, DOUBLE), Literal(NAN, DOUBLE)),
    ],
)
def test_written_in_two_ways(first: Literal, second: Literal) -> None:
    assert first != second
