"""timestamp_ns: texts, binary forms and functions against Python's integers and dates."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from risingpy.errors import SqlError
from risingpy.functions.topics.times.clock_words import parse_at
from risingpy.functions.topics.times.nanoseconds import NANOSECONDS
from risingpy.plan.codec import decode, encode
from risingpy.plan.expressions import Literal
from risingpy.types import TIMESTAMP_NS
from risingpy.types.clocks.nano_moments import FIRST_NANOS, LAST_NANOS, NANOS, NanoMoment
from risingpy.types.far_moments import values_of
from risingpy.types.forms import (
    binary_column,
    decode_binary,
    encode_binary,
    format_text,
    parse_column,
    parse_text,
    text_column,
)

_SECOND = 10**9
_DAY = 86_400 * _SECOND
_EDGES = [FIRST_NANOS, FIRST_NANOS + 1, -_DAY, -_SECOND, -1001, -1000, -999, -1, 0, 1, 999, _SECOND, _DAY, LAST_NANOS]
_nanos = st.sampled_from(_EDGES) | st.integers(FIRST_NANOS, LAST_NANOS) | st.integers(-3 * _SECOND, 3 * _SECOND)


def _column(numbers: list[int] | list[int | None]) -> pa.Array:
    return pa.array(numbers, pa.int64()).cast(NANOS)


def _text(nanos: int) -> str:
    """By Python's datetime, which has whole seconds of the range."""
    seconds, below = divmod(nanos, _SECOND)
    shown = str(datetime(1970, 1, 1) + timedelta(seconds=seconds))
    return f"{shown}.{below:09d}".rstrip("0") if below else shown


@given(st.lists(st.none() | _nanos))
def test_forms(numbers: list[int | None]) -> None:
    column = _column(numbers)
    texts = [None if n is None else _text(n) for n in numbers]
    assert text_column(TIMESTAMP_NS, column).to_pylist() == texts
    assert parse_column(TIMESTAMP_NS, pa.array(texts, pa.string())).equals(column)
    assert values_of(column) == numbers
    sent = binary_column(TIMESTAMP_NS, column)
    assert isinstance(sent, np.ndarray)
    for number, data in zip(numbers, sent, strict=True):
        if number is not None:
            assert encode_binary(TIMESTAMP_NS, NanoMoment(number)) == number.to_bytes(8, "big", signed=True)
            assert int(data) == number
            assert decode_binary(TIMESTAMP_NS, number.to_bytes(8, "big", signed=True)) == number
            assert parse_text(TIMESTAMP_NS, _text(number)) == number
            assert format_text(TIMESTAMP_NS, NanoMoment(number)) == _text(number)


@pytest.mark.parametrize(
    ("text", "nanos"),
    [
        ("2024-01-01 00:00:00.1234567891", 1_704_067_200_123_456_789),
        ("2024-01-01 00:00:00.0000000005", 1_704_067_200_000_000_000),  # a half to the even one
        ("2024-01-01 00:00:00.0000000015", 1_704_067_200_000_000_002),
        ("1999-12-31 23:59:59.9999999996", 946_684_800 * _SECOND),
        ("2024-01-01T10:00", 1_704_103_200 * _SECOND),
        ("20240101 100000.5", 1_704_103_200_500_000_000),
        ("2024-01-01 00:00:00.000000001+05", 1_704_067_200_000_000_001),  # as timestamp, it reads over a zone
        ("epoch", 0),
        ("Jan 2, 1970", _DAY),
        ("J2440588", 0),
    ],
)
def test_texts_as_people_write_them(text: str, nanos: int) -> None:
    assert parse_text(TIMESTAMP_NS, text) == nanos
    assert parse_column(TIMESTAMP_NS, pa.array([text, None])).equals(_column([nanos, None]))


@pytest.mark.parametrize(
    ("text", "sqlstate"),
    [
        *((text, "22007") for text in ("", "x", "12:00", "2024-01-01 00:00:00.0.0")),
        *((text, "22008") for text in ("infinity", "-infinity", "2024-02-30", "2024-13-01", "0044-03-15 BC")),
        *((text, "22008") for text in ("9999-01-01", "300000-01-01", "2262-04-11 23:47:16.854775807")),
        ("1677-09-21 00:12:43.145224193", "22008"),
    ],
)
def test_texts_that_are_none(text: str, sqlstate: str) -> None:
    for read in (lambda: parse_text(TIMESTAMP_NS, text), lambda: parse_column(TIMESTAMP_NS, pa.array([text]))):
        with pytest.raises(SqlError) as refused:
            read()
        assert refused.value.sqlstate == sqlstate


@pytest.mark.parametrize("number", [-(2**63), 1 - 2**63, 2**63 - 1])
def test_numbers_that_are_none(number: int) -> None:
    data = number.to_bytes(8, "big", signed=True)
    for read in (
        lambda: decode_binary(TIMESTAMP_NS, data),
        lambda: NANOSECONDS["make_timestamp_ns"].compute(pa.array([number])),
    ):
        with pytest.raises(SqlError) as refused:
            read()
        assert refused.value.sqlstate == "22008"


@given(_nanos)
def test_literals_are_stored(number: int) -> None:
    literal = Literal(NanoMoment(number), TIMESTAMP_NS)
    read = decode(encode(literal))
    assert read == literal
    assert type(read.value) is NanoMoment


def _computed(function: str, *columns: pa.Array) -> pa.Array:
    return NANOSECONDS[function].compute(*columns)


@given(_nanos)
def test_casts(number: int) -> None:
    micros = round(Fraction(number, 1000))  # halves to the even one
    column = _column([number])
    assert _computed("nanos_to_timestamp", column).cast(pa.int64()).to_pylist() == [micros]
    assert _computed("nanos_to_date", column).cast(pa.int32()).to_pylist() == [number // _DAY]
    assert _computed("nanos_to_time", column).cast(pa.int64()).to_pylist() == [micros % (_DAY // 1000)]
    moment = pa.array([micros]).cast(pa.timestamp("us"))
    if FIRST_NANOS <= 1000 * micros <= LAST_NANOS:
        assert _computed("nanos_of_timestamp", moment).equals(_column([1000 * micros]))
    else:
        with pytest.raises(SqlError, match="timestamp out of range for timestamp_ns"):
            _computed("nanos_of_timestamp", moment)


_LIMIT = 2**63 // 1000 - 1


@given(_nanos, st.integers(-_LIMIT, _LIMIT) | st.integers(-5, 5), st.integers(-200_000, 200_000) | st.just(0))
def test_intervals_are_added(number: int, micros: int, days: int) -> None:
    interval = pa.array([pa.MonthDayNano([0, days, 1000 * micros])])
    for function, sign in (("nanos_plus", 1), ("nanos_minus", -1)):
        expected = number + sign * (days * _DAY + 1000 * micros)
        if FIRST_NANOS <= expected <= LAST_NANOS:
            assert _computed(function, _column([number]), interval).equals(_column([expected]))
        else:
            with pytest.raises(SqlError) as refused:
                _computed(function, _column([number]), interval)
            assert refused.value.sqlstate == "22008"


@given(_nanos, _nanos)
def test_differences_are_rounded(a: int, b: int) -> None:
    difference = Fraction(a - b, 1000)
    away = abs(difference) + Fraction(1, 2)
    micros = (away.numerator // away.denominator) * (1 if difference >= 0 else -1)
    (found,) = _computed("nanos_difference", _column([a]), _column([b])).to_pylist()
    assert (found.months, found.days * _DAY + found.nanoseconds) == (0, 1000 * micros)


def test_months_end_where_they_end() -> None:
    interval = pa.array([pa.MonthDayNano([1, 0, 0])] * 2)
    given_ = parse_column(TIMESTAMP_NS, pa.array(["2024-01-31 12:00:00.000000001", "1969-11-30 23:59:59.999999999"]))
    found = text_column(TIMESTAMP_NS, _computed("nanos_plus", given_, interval)).to_pylist()
    assert found == ["2024-02-29 12:00:00.000000001", "1969-12-30 23:59:59.999999999"]


def test_words_read_the_clock() -> None:
    now = datetime(2024, 2, 28, 10, 0, 0, 5, UTC)
    texts = ("now", "tomorrow 01:02:03.000000004")
    shown = [format_text(TIMESTAMP_NS, parse_at(TIMESTAMP_NS, text, "UTC", now)) for text in texts]
    assert shown == ["2024-02-28 10:00:00.000005", "2024-02-29 01:02:03.000000004"]
