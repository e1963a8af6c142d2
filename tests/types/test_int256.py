"""rw_int256: text and binary forms, order, and arithmetic against Python's integers."""

from __future__ import annotations

import operator
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from risingpy.errors import NumericValueOutOfRange, SqlError
from risingpy.functions.aggregate.grouping import GroupedRows
from risingpy.functions.aggregate.large_sums import LargeSum
from risingpy.functions.topics.numbers.large_integers import LARGE_INTEGERS
from risingpy.types import INT256
from risingpy.types.forms import (
    binary_column,
    decode_binary,
    encode_binary,
    format_text,
    parse_column,
    parse_text,
    text_column,
)
from risingpy.types.int256 import LIMIT, to_bytes, to_int

_EDGES = [-LIMIT, -LIMIT + 1, -(2**128), -(2**64), -1, 0, 1, 2**32, 2**63, 2**64 - 1, 2**200, LIMIT - 1]
_numbers = st.sampled_from(_EDGES) | st.integers(-LIMIT, LIMIT - 1) | st.integers(-1000, 1000)


def _column(numbers: list[int]) -> pa.Array:
    return pa.array([to_bytes(number) for number in numbers], pa.binary())


@given(st.lists(st.none() | _numbers))
def test_forms(numbers: list[int | None]) -> None:
    column = pa.array([None if n is None else to_bytes(n) for n in numbers], pa.binary())
    texts = [None if n is None else str(n) for n in numbers]
    assert text_column(INT256, column).to_pylist() == texts
    assert parse_column(INT256, pa.array(texts, pa.string())).equals(column)
    shown = [bytes(item) for item in binary_column(INT256, column)]
    for number, data in zip(numbers, shown, strict=True):
        if number is not None:
            assert data == number.to_bytes(32, "big", signed=True) == encode_binary(INT256, to_bytes(number))
            assert decode_binary(INT256, data) == to_bytes(number) == parse_text(INT256, str(number))
            assert format_text(INT256, to_bytes(number)) == str(number)


@given(_numbers, _numbers)
def test_bytes_order_as_numbers_do(a: int, b: int) -> None:
    assert (to_bytes(a) < to_bytes(b)) == (a < b)


def _cut(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


@pytest.mark.parametrize(
    ("name", "compute"),
    [
        ("add", operator.add),
        ("subtract", operator.sub),
        ("multiply", operator.mul),
        ("divide", _cut),
        ("modulo", lambda a, b: a - b * _cut(a, b)),
    ],
)
@given(a=_numbers, b=_numbers)
def test_arithmetic(name: str, compute: Callable[[int, int], int], a: int, b: int) -> None:
    function = LARGE_INTEGERS[f"int256_{name}"].compute
    try:
        expected = compute(a, b)
    except ZeroDivisionError:
        with pytest.raises(SqlError, match="division by zero"):
            function(_column([a]), _column([b]))
        return
    if -LIMIT <= expected < LIMIT:
        (answer,) = function(_column([a]), _column([b])).to_pylist()
        assert to_int(answer) == expected
    else:
        with pytest.raises(NumericValueOutOfRange):
            function(_column([a]), _column([b]))


@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from([1, 1, -1]), _numbers), max_size=12))
def test_sums(rows: list[tuple[int, int, int]]) -> None:
    state = LargeSum()
    codes = np.array([row[0] for row in rows], np.int64)
    grouped = GroupedRows(codes, np.array([row[1] for row in rows], np.int8), 3)
    result, errors = state.result(state.accumulate(grouped, [_column([row[2] for row in rows])]))
    failed = 0
    for group, answer in enumerate(result.to_pylist()):
        total = sum(sign * number for code, sign, number in rows if code == group)
        if sum(sign for code, sign, _ in rows if code == group) == 0:
            assert answer is None
        elif -LIMIT <= total < LIMIT:
            assert to_int(answer) == total
        else:
            assert answer is None
            failed += 1
    assert errors == failed


@pytest.mark.parametrize(("text", "sqlstate"), [("", "22P02"), ("1.5", "22P02"), ("x", "22P02"), (str(LIMIT), "22003")])
def test_texts_that_are_none(text: str, sqlstate: str) -> None:
    with pytest.raises(SqlError) as refused:
        parse_text(INT256, text)
    assert refused.value.sqlstate == sqlstate
