"""Wide numerics against Python's decimals: arithmetic, rounding, forms, and sums whose rows are retracted."""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_DOWN, ROUND_FLOOR, ROUND_HALF_UP, Context, Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from risingpy.errors import NumericValueOutOfRange
from risingpy.functions.aggregate.grouping import GroupedRows
from risingpy.functions.aggregate.wide_sums import WideSum
from risingpy.functions.topics import FUNCTIONS
from risingpy.functions.topics.calling import call
from risingpy.functions.topics.numbers.wide_numbers import of_numbers, to_narrow
from risingpy.types import NUMERIC
from risingpy.types.forms import binary_column, decode_binary, encode_binary, parse_column, text_column
from risingpy.types.wide_numeric import DECIMALS, WHOLE_DIGITS, key_of, of_key, to_bytes, to_decimal

EXACT = Context(prec=400, rounding=ROUND_HALF_UP, Emax=10**6, Emin=-(10**6))
LIMIT = Decimal(10) ** WHOLE_DIGITS
_sizes = st.sampled_from([1, 9, 10, 18, 38, 45, 46, 54, 89, 90])
numbers = st.builds(
    lambda digits, sign, scale: positive_zero(EXACT.scaleb(Decimal(sign * digits), -scale)),
    _sizes.flatmap(lambda size: st.integers(0, 10**size - 1) | st.sampled_from([0, 1, 10 ** (size - 1), 10**size - 1])),
    st.sampled_from([1, -1]),
    st.sampled_from([0, 1, 2, 9, 16, 38, 44, DECIMALS, DECIMALS]),
).filter(lambda number: number.copy_abs() < LIMIT)
pairs = st.lists(st.tuples(numbers, numbers), min_size=1, max_size=20)


def positive_zero(number: Decimal) -> Decimal:
    return number or number.copy_abs()


def shown(values: list[Decimal]) -> list[str]:
    return [f"{positive_zero(value):f}" for value in values]


def column(values: list[Decimal]) -> pa.Array:
    return pa.array([to_bytes(value) for value in values], pa.binary())


def computed(name: str, *columns: pa.Array) -> list[Decimal]:
    return [to_decimal(data) for data in call(FUNCTIONS[f"wide_{name}"], columns, pa.binary()).to_pylist()]


def first_digit(x: Decimal) -> tuple[int, int]:
    """PostgreSQL's weight and first digit, in base 10000."""
    weight = x.adjusted() // 4 if x else 0
    return weight, int(x.copy_abs().scaleb(-4 * weight, EXACT))


def scale_of(x: Decimal) -> int:
    return -int(x.as_tuple().exponent)


def quotient(a: Decimal, b: Decimal) -> Decimal:
    """With the decimals of numeric.c's select_div_scale."""
    (weight, digit), (divisor_weight, divisor_digit) = first_digit(a), first_digit(b)
    weight -= divisor_weight + (digit <= divisor_digit)
    decimals = min(max(16 - 4 * weight, scale_of(a), scale_of(b)), DECIMALS)
    return EXACT.quantize(EXACT.divide(a, b), Decimal(1).scaleb(-decimals))


def product(a: Decimal, b: Decimal) -> Decimal:
    return EXACT.quantize(EXACT.multiply(a, b), Decimal(1).scaleb(-min(scale_of(a) + scale_of(b), DECIMALS)))


OPERATORS: dict[str, Callable[[Decimal, Decimal], Decimal]] = {
    "add": EXACT.add,
    "subtract": EXACT.subtract,
    "multiply": product,
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
    assert shown(computed(name, left.take(chosen), right.take(chosen))) == shown([expected[k] for k in fitting])
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
    assert shown(computed(name, values, decimals)) == shown([expected[k] for k in kept])


@given(values=st.lists(numbers.filter(lambda n: n.copy_abs() < LIMIT / 10), min_size=1, max_size=10))
def test_whole_numbers(values: list[Decimal]) -> None:
    modes = {"round": ROUND_HALF_UP, "trunc": ROUND_DOWN, "ceil": ROUND_CEILING, "floor": ROUND_FLOOR}
    for name, mode in modes.items():
        expected = [value.quantize(Decimal(1), mode, EXACT) for value in values]
        assert shown(computed(name, column(values))) == shown(expected)


@given(values=st.lists(numbers | st.none(), max_size=20))
def test_forms(values: list[Decimal | None]) -> None:
    wide = pa.array([None if value is None else to_bytes(value) for value in values], pa.binary())
    texts = text_column(NUMERIC, wide)
    assert texts.to_pylist() == [None if value is None else f"{value:f}" for value in values]
    assert parse_column(NUMERIC, texts).equals(wide)
    present = [data for data in wide.to_pylist() if data is not None]
    assert [decode_binary(NUMERIC, encode_binary(NUMERIC, data)) for data in present] == present
    ordered = [to_bytes(value) for value in sorted(value for value in values if value is not None)]
    assert [key_of(data) for data in sorted(present)] == [key_of(data) for data in ordered]
    assert [to_decimal(of_key(key_of(data))) for data in ordered] == [to_decimal(data) for data in ordered]


@given(scale=st.integers(0, 38), digits=st.lists(st.integers(1 - 10**38, 10**38 - 1) | st.none(), max_size=10))
def test_narrow_numerics_become_wide_and_come_back(scale: int, digits: list[int | None]) -> None:
    narrow = pa.array(
        [None if n is None else EXACT.scaleb(Decimal(n), -scale) for n in digits], pa.decimal128(38, scale)
    )
    assert to_narrow(of_numbers(narrow), narrow.type).equals(narrow)


SPECIAL = [Decimal(text) for text in ("NaN", "Infinity", "-Infinity")]


@given(values=st.lists(numbers | st.sampled_from(SPECIAL), min_size=1, max_size=12), kept=st.integers(0, 12))
def test_a_sum_forgets_what_is_taken_back(values: list[Decimal], kept: int) -> None:
    """NaN, infinities and scales too: the sum is that of those that stay, shown as theirs is."""
    stay, state = values[:kept], WideSum()
    codes = np.zeros(len(values) + len(values[kept:]), np.int64)
    signs = np.array([1] * len(values) + [-1] * len(values[kept:]), np.int8)
    changed = state.accumulate(GroupedRows(codes, signs, 1), [column(values + values[kept:])])
    only = state.accumulate(GroupedRows(codes[: len(stay)], signs[: len(stay)], 1), [column(stay)])
    assert [each.to_pylist() for each in changed] == [each.to_pylist() for each in only]
    assert state.result(changed)[0].equals(state.result(only)[0])


def test_special_values_have_an_order_and_forms() -> None:
    largest = Decimal("9" * WHOLE_DIGITS)
    least = largest.copy_negate()
    values = [SPECIAL[2], least, Decimal(-1), Decimal(0), Decimal("1.0"), largest, SPECIAL[1], SPECIAL[0]]
    forms = [to_bytes(value) for value in values]
    assert sorted(forms) == forms
    texts = [str(value) for value in values]
    assert text_column(NUMERIC, pa.array(forms, pa.binary())).to_pylist() == texts
    assert [decode_binary(NUMERIC, encode_binary(NUMERIC, data)) for data in forms] == forms
    binary = binary_column(NUMERIC, pa.array(forms, pa.binary()))
    assert isinstance(binary, pa.Array)
    assert [bytes(each) for each in binary.to_pylist()] == [encode_binary(NUMERIC, data) for data in forms]


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
