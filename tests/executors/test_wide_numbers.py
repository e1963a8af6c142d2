"""Wide numerics against Python's decimals: arithmetic, rounding, forms, and sums that are taken back."""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_DOWN, ROUND_FLOOR, ROUND_HALF_UP, Context, Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from risingpy.errors import NumericValueOutOfRange
from risingpy.executors.aggregate.grouping import GroupedRows
from risingpy.executors.aggregate.wide_sums import WideSum
from risingpy.executors.expression.functions import FUNCTIONS
from risingpy.executors.expression.functions.calling import call
from risingpy.executors.expression.functions.wide_numbers import of_numbers, to_narrow
from risingpy.types import NUMERIC
from risingpy.types.forms import decode_binary, encode_binary, parse_column, text_column
from risingpy.types.wide_numeric import DECIMALS, WHOLE_DIGITS, to_bytes, to_decimal

EXACT = Context(prec=400, rounding=ROUND_HALF_UP, Emax=10**6, Emin=-(10**6))
LIMIT = Decimal(10) ** WHOLE_DIGITS
UNIT = Decimal(1).scaleb(-DECIMALS)
_sizes = st.sampled_from([1, 9, 10, 18, 38, 45, 46, 54, 89, 90])
numbers = st.builds(
    lambda digits, sign: EXACT.scaleb(Decimal(sign * digits), -DECIMALS),
    _sizes.flatmap(lambda size: st.integers(0, 10**size - 1) | st.sampled_from([0, 1, 10 ** (size - 1), 10**size - 1])),
    st.sampled_from([1, -1]),
)
pairs = st.lists(st.tuples(numbers, numbers), min_size=1, max_size=20)


def column(values: list[Decimal]) -> pa.Array:
    return pa.array([to_bytes(value) for value in values], pa.binary())


def computed(name: str, *columns: pa.Array) -> list[Decimal]:
    return [to_decimal(data) for data in call(FUNCTIONS[f"wide_{name}"], columns, pa.binary()).to_pylist()]


def quotient(a: Decimal, b: Decimal) -> Decimal:
    exact = EXACT.divide(a, b)
    even = EXACT.quantize(exact, UNIT)
    if EXACT.multiply(even, b) == a:
        return even
    decimals = min(max(28 - (exact.adjusted() + 1), 16), DECIMALS)
    return EXACT.quantize(exact, Decimal(1).scaleb(-decimals))


OPERATORS: dict[str, Callable[[Decimal, Decimal], Decimal]] = {
    "add": EXACT.add,
    "subtract": EXACT.subtract,
    "multiply": lambda a, b: EXACT.quantize(EXACT.multiply(a, b), UNIT),
    "divide": quotient,
    "modulo": EXACT.remainder,
}


@pytest.mark.parametrize("name", OPERATORS)
@given(rows=pairs)
def test_arithmetic(name: str, rows: list[tuple[Decimal, Decimal]]) -> None:
    rows = [(a, b) for a, b in rows if b or name not in ("divide", "modulo")]
    expected = [OPERATORS[name](a, b) for a, b in rows]
    fitting = [k for k, value in enumerate(expected) if value.copy_abs() < LIMIT]
    left, right = column([a for a, _ in rows]), column([b for _, b in rows])
    chosen = pa.array(fitting, pa.int64())
    assert computed(name, left.take(chosen), right.take(chosen)) == [expected[k] for k in fitting]
    for k in sorted({*range(len(rows))} - {*fitting}):
        with pytest.raises(NumericValueOutOfRange):
            computed(name, left.slice(k, 1), right.slice(k, 1))


@pytest.mark.parametrize(
    ("name", "mode"), [("round_to", ROUND_HALF_UP), ("trunc_to", ROUND_DOWN)], ids=["round", "trunc"]
)
@given(rows=st.lists(st.tuples(numbers, st.integers(-46, 60)), min_size=1, max_size=10))
def test_rounding_to_decimals(name: str, mode: str, rows: list[tuple[Decimal, int]]) -> None:
    expected = [a.quantize(Decimal(1).scaleb(-min(n, DECIMALS)), mode, EXACT) for a, n in rows]
    kept = [k for k, value in enumerate(expected) if value.copy_abs() < LIMIT]
    values, decimals = column([rows[k][0] for k in kept]), pa.array([rows[k][1] for k in kept], pa.int32())
    assert computed(name, values, decimals) == [expected[k] for k in kept]


@given(values=st.lists(numbers.filter(lambda n: n.copy_abs() < LIMIT / 10), min_size=1, max_size=10))
def test_whole_numbers(values: list[Decimal]) -> None:
    modes = {"round": ROUND_HALF_UP, "trunc": ROUND_DOWN, "ceil": ROUND_CEILING, "floor": ROUND_FLOOR}
    for name, mode in modes.items():
        assert computed(name, column(values)) == [value.quantize(Decimal(1), mode, EXACT) for value in values]


@given(values=st.lists(numbers | st.none(), max_size=20))
def test_forms(values: list[Decimal | None]) -> None:
    wide = pa.array([None if value is None else to_bytes(value) for value in values], pa.binary())
    texts = text_column(NUMERIC, wide)
    assert [None if text is None else Decimal(text) for text in texts.to_pylist()] == values
    assert parse_column(NUMERIC, texts).equals(wide)
    present = [data for data in wide.to_pylist() if data is not None]
    assert [decode_binary(NUMERIC, encode_binary(NUMERIC, data)) for data in present] == present
    assert sorted(present) == [to_bytes(value) for value in sorted(value for value in values if value is not None)]


@given(scale=st.integers(0, 38), digits=st.lists(st.integers(1 - 10**38, 10**38 - 1) | st.none(), max_size=10))
def test_narrow_numerics_become_wide_and_come_back(scale: int, digits: list[int | None]) -> None:
    narrow = pa.array(
        [None if n is None else EXACT.scaleb(Decimal(n), -scale) for n in digits], pa.decimal128(38, scale)
    )
    assert to_narrow(of_numbers(narrow), narrow.type).equals(narrow)


@given(values=st.lists(st.tuples(numbers, st.integers(0, 2)), min_size=1, max_size=20))
def test_what_is_taken_back_leaves_nothing(values: list[tuple[Decimal, int]]) -> None:
    state = WideSum()
    numbers_, groups = column([value for value, _ in values]), np.array([group for _, group in values])
    came = state.accumulate(GroupedRows(groups, np.ones(len(values), np.int8), 3), [numbers_])
    went = state.accumulate(GroupedRows(groups, -np.ones(len(values), np.int8), 3), [numbers_])
    result, failed = state.result(came)
    for group in range(3):
        members = [value for value, of in values if of == group]
        total = Decimal(0)
        for member in members:
            total = EXACT.add(total, member)
        expected = None if not members or total.copy_abs() >= LIMIT else to_bytes(total)
        assert result[group].as_py() == expected
    merged = state.merge(
        np.array([0, 1, 2, 0, 1, 2]), 3, [pa.concat_arrays(pair) for pair in zip(came, went, strict=True)]
    )
    assert merged[0].to_pylist() == [bytes(80)] * 3
    assert state.result(merged)[0].to_pylist() == [None] * 3
    assert failed == sum(result[group].as_py() is None for group in {of for _, of in values})
