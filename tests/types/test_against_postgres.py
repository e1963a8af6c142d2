"""Text and binary forms, and what a text means, compared with PostgreSQL 15."""

from __future__ import annotations

import random
import struct
from collections.abc import Sequence
from decimal import Decimal

import numpy as np
import psycopg
import pyarrow as pa
import pytest

from risingpy.errors import SqlError
from risingpy.types import (
    BIGINT,
    BOOLEAN,
    BYTEA,
    DATE,
    DOUBLE,
    INTEGER,
    INTERVAL,
    REAL,
    SMALLINT,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    VARCHAR,
    SqlType,
    TypeKind,
    numeric,
)
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


def _doubles() -> list[str]:
    chosen = random.Random(1)
    values = [struct.unpack("!d", struct.pack("!Q", chosen.getrandbits(64)))[0] for _ in range(3000)]
    values += [chosen.uniform(-1e6, 1e6) for _ in range(500)]
    values += [chosen.uniform(0, 1) * 10 ** chosen.randint(-6, 25) for _ in range(8000)]
    values += [float(chosen.getrandbits(62)) for _ in range(3000)] + [2.0**power for power in range(-80, 200)]
    values += [float(10**power) for power in range(25)] + [float(10**power) * 1.5 for power in range(25)]
    values += [0.0, -0.0, 1e-4, 1e-5, 9.5e-5, 1.5e-7, 5e-324, 1.7976931348623157e308, float("inf"), -float("inf")]
    return [repr(value) for value in values if value == value] + ["NaN"]


def _reals() -> list[str]:
    chosen = random.Random(2)
    bits = np.array([chosen.getrandbits(32) for _ in range(4000)], np.uint32).view(np.float32)
    singles = [
        *bits[np.isfinite(bits)],
        *(np.float32(chosen.uniform(0, 1) * 10 ** chosen.randint(-6, 14)) for _ in range(6000)),
    ]
    singles += [np.float32(chosen.getrandbits(34)) for _ in range(2000)] + [
        np.float32(2.0**power) for power in range(-40, 60)
    ]
    return [repr(float(value)) for value in singles] + ["NaN", "Infinity", "-Infinity", "1e6", "123456.7", "-0"]


def _numerics(scale: int) -> list[str]:
    chosen = random.Random(3)
    digits = [chosen.randint(-(10 ** chosen.randint(1, 22)), 10 ** chosen.randint(1, 22)) for _ in range(500)]
    texts = [format(Decimal(value).scaleb(-chosen.randint(0, scale)), "f") for value in digits]
    return [*texts, "0", "0.0001", "9999.9999", "10000", "-0.00005", "12340000", "1e10", "1.5e-3", ".5", "5."]


_TIMESTAMPS = [
    "2024-01-02 03:04:05",
    "1999-12-31 23:59:59.999999",
    "2024-01-02 03:04:05.678",
    "0001-01-01 00:00:00",
    "9999-12-31 23:59:59",
    "2020-10-10 10:10:10",
    "2020-10-10",
    "2024-02-29T12:00",
    "Jan 2, 2024 3:04 PM",
    "1/2/2024",
    "2-Jan-2024 12:00 AM",
    "20240102 030405",
    "2024-01-02 24:00:00",
    "2024-01-02 23:59:60",
    "2024-01-02 03:04:05.12345678",
    "Tue Jan 02 2024 03:04:05",
    "epoch",
    "1/2/68",
    "2024-01-02 03:04:05.9999999",
    " 2024-01-02 ",
    "2024/1/2",
    "20240102T030405",
    "2024 Jan 2",
    "2 January 2024 4:5:6",
]
_FAR = [
    "infinity",
    " -INFINITY",
    "0044-03-15 BC",
    "March 15, 44 BC",
    "Jan 1, 70 BC 03:04:05",
    "0001-02-29 BC 12:34:56.789",
    "4714-11-24 BC",
    "10000-01-01",
    "1000000101",
    "12345-06-07 08:09:10.111213",
    "294246-12-31 23:59:59.999999",
    "J0",
    "J2000000 AD",
    "4 July 12345 AD",
    "1/2/12345",
    "0100-03-01 ad",
]
_CASES: dict[SqlType, list[str]] = {
    BOOLEAN: ["t", "f", "true", "YES", " on ", "off", "0", "1", "fal", "n"],
    SMALLINT: ["0", "-1", "32767", "-32768", " 12 ", "+5"],
    INTEGER: ["0", "-1", "2147483647", "-2147483648", "0000000000000000012"],
    BIGINT: ["0", "-1", str(2**63 - 1), str(-(2**63)), "\t7\n"],
    REAL: _reals(),
    DOUBLE: _doubles(),
    numeric(38, 10, declared=True): _numerics(10),
    numeric(5, 2, declared=True): ["0", "1.005", "-999.99", "0.004", "12.345", "-12.345"],
    numeric(20, 0, declared=True): ["0", "1", "12345678901234567890", "-1.5", "10000", "0.4"],
    VARCHAR: ["", 'é\n\t"', "x" * 3000, "\\"],
    BYTEA: ["\\x", "\\x00ff", "abc", "a\\\\b\\001", "\\xDe Ad"],
    DATE: ["2024-01-02", "1970-01-01", "0001-01-01", "9999-12-31", *_TIMESTAMPS, *_FAR, "5874897-12-31"],
    TIME: ["00:00", "03:04:05.678", "10:10:10", "23:59:59.999999", "1:2:3.0001", "03:04 PM", "12:00 am"],
    TIMESTAMP: [*_TIMESTAMPS, *_FAR, "2024-01-02 03:04:05+07"],
    TIMESTAMPTZ: [
        *_TIMESTAMPS,
        *_FAR,
        "0044-03-15 12:00:00+03 BC",
        "20240-07-01 12:00 America/New_York",
        "2024-01-02 03:04:05+07",
        "2024-01-02 03:04:05-0330",
        "2024-07-02 03:04:05 America/New_York",
        "2024-01-02T03:04:05Z",
        "2024-01-02 03:04 PST",
        "2024-11-03 01:30 America/New_York",
        "2024-03-10 02:30 America/New_York",
        "2024-01-02 03:04:05.5+05:45",
    ],
    INTERVAL: [
        "1 year 2 mons -3 days 04:05:06.7",
        "0",
        "1 day",
        "-1 mon +2 days -00:00:01.5",
        "1.5 months",
        "1.5 years",
        "1.5 weeks",
        "1.7 days",
        "1 day ago",
        "@ 1 minute",
        "P1Y2M3DT4H5M6.5S",
        "PT36H",
        "P2W",
        "1-2",
        "-1-2",
        "3 4:05:06",
        "2h30m",
        "5",
        "1 decade",
        "1 century",
        "100:00:00",
        "-00:00:00.000001",
        "1 year -13 months",
        "1 us",
        "1500 ms",
        "12:30",
        "-1 day 2:03:04",
        "1.123456789 s",
        "3.25 mins",
        "P0.5Y",
        "-1.5 days",
    ],
}


def _name(type_: SqlType) -> str:
    return str(type_)


def _answers(postgres: psycopg.Connection, type_: SqlType, texts: Sequence[str], *, binary: bool) -> list[bytes | None]:
    cursor = postgres.cursor(binary=binary)
    cursor.execute(f"select x::{type_} from unnest(%s::text[]) with ordinality t(x, o) order by o", (list(texts),))
    assert cursor.pgresult is not None
    return [cursor.pgresult.get_value(row, 0) for row in range(cursor.pgresult.ntuples)]


def _column_bytes(type_: SqlType, array: pa.Array) -> list[bytes]:
    column = binary_column(type_, array)
    if isinstance(column, np.ndarray):
        width = column.dtype.itemsize
        data = column.tobytes()
        return [data[at : at + width] for at in range(0, len(data), width)]
    return list(column.cast(pa.binary()).to_pylist())


@pytest.mark.parametrize("type_", _CASES, ids=_name)
def test_forms_are_postgresqls(postgres: psycopg.Connection, type_: SqlType) -> None:
    texts = _CASES[type_]
    shown = [value.decode() for value in _answers(postgres, type_, texts, binary=False) if value is not None]
    values = [parse_text(type_, text) for text in texts]
    array = pa.array(values, type_.arrow)
    assert [format_text(type_, value) for value in values] == shown
    assert text_column(type_, array).to_pylist() == shown
    read = parse_column(type_, pa.array(texts, pa.string())).cast(type_.arrow)
    assert values_of(read) == values_of(array) or type_.is_float
    encoded = [value for value in _answers(postgres, type_, texts, binary=True) if value is not None]
    assert [encode_binary(type_, value) for value in values] == encoded
    assert _column_bytes(type_, array) == encoded
    assert [format_text(type_, decode_binary(type_, data)) for data in encoded] == shown


@pytest.mark.parametrize("type_", _CASES, ids=_name)
def test_columns_keep_nulls_and_slices(type_: SqlType) -> None:
    values = [parse_text(type_, text) for text in _CASES[type_]]
    spread = [None, *(value for pair in zip(values, [None] * len(values), strict=True) for value in pair)]
    array = pa.array(spread, type_.arrow).slice(1)
    expected = [None if value is None else format_text(type_, value) for value in spread[1:]]
    assert text_column(type_, array).to_pylist() == expected
    texts = pa.array([None, *expected], pa.string()).slice(1)
    assert text_column(type_, parse_column(type_, texts)).to_pylist() == expected
    encoded = [encode_binary(type_, value) for value in spread[1:] if value is not None]
    valid = array.is_valid().to_pylist()
    column = [data for data, there in zip(_column_bytes(type_, array), valid, strict=True) if there]
    assert column == encoded


@pytest.mark.parametrize("time_zone", ["America/New_York", "Asia/Kathmandu", "Europe/Amsterdam", "UTC"])
def test_timestamptz_in_a_time_zone(postgres: psycopg.Connection, time_zone: str) -> None:
    texts = [
        "2024-01-02 03:04:05",
        "2024-07-02 03:04:05.5",
        "1930-05-05 00:00:00",
        "2024-11-03 01:30",
        "2024-03-10 02:30",
    ]
    try:
        postgres.execute(f"set timezone = '{time_zone}'")
        shown = [(value or b"").decode() for value in _answers(postgres, TIMESTAMPTZ, texts, binary=False)]
    finally:
        postgres.execute("set timezone = 'UTC'")
    values = [parse_text(TIMESTAMPTZ, text, time_zone=time_zone) for text in texts]
    assert [format_text(TIMESTAMPTZ, value, time_zone=time_zone) for value in values] == shown
    array = pa.array(values, TIMESTAMPTZ.arrow)
    assert text_column(TIMESTAMPTZ, array, time_zone=time_zone).to_pylist() == shown


_WRONG: list[tuple[SqlType, str]] = [
    (BOOLEAN, "maybe"),
    (BOOLEAN, ""),
    (BOOLEAN, "o"),
    (SMALLINT, "32768"),
    (SMALLINT, "1.5"),
    (INTEGER, "abc"),
    (INTEGER, ""),
    (INTEGER, "2147483648"),
    (INTEGER, "0x1F"),
    (INTEGER, "1 2"),
    (BIGINT, "9" * 30),
    (BIGINT, "٣"),
    (REAL, "1e39"),
    (REAL, "x"),
    (REAL, "1e-60"),
    (DOUBLE, "1e400"),
    (DOUBLE, "1e-400"),
    (DOUBLE, "1.2.3"),
    (DOUBLE, ""),
    (numeric(5, 2, declared=True), "1000"),
    (numeric(5, 2, declared=True), "a"),
    (numeric(3, 3, declared=True), "1"),
    (numeric(5, 2, declared=True), "999.995"),
    (SqlType(TypeKind.VARCHAR, length=3), "abcd"),
    (BYTEA, "\\xabc"),
    (BYTEA, "\\xzz"),
    (BYTEA, "\\9"),
    (DATE, "2024-13-01"),
    (DATE, "2024-02-30"),
    (DATE, "hello"),
    (DATE, ""),
    (DATE, "10000000-01-01"),
    (TIME, "25:00:00"),
    (TIME, "x"),
    (TIMESTAMP, "2024-01-02 25:00:00"),
    (TIMESTAMP, "nope"),
    (TIMESTAMP, "2024-01-02 03:61:00"),
    (TIMESTAMPTZ, "nope"),
    (TIMESTAMPTZ, "2024-01-02 03:04:05+"),
    (INTERVAL, "1 foo"),
    (INTERVAL, "x"),
    (INTERVAL, ""),
    (INTERVAL, "1 day 2 days"),
]


@pytest.mark.parametrize(("type_", "text"), _WRONG, ids=str)
def test_errors_are_postgresqls(postgres: psycopg.Connection, type_: SqlType, text: str) -> None:
    with pytest.raises(psycopg.Error) as theirs:
        # A table, so that varchar(n) refuses what does not fit: an explicit cast would cut it.
        postgres.execute(
            f"create temp table if not exists wrong(); drop table wrong; create temp table wrong(x {type_})"
        )
        postgres.execute("insert into wrong values (%s)", (text,))
    with pytest.raises(SqlError) as ours:
        parse_text(type_, text)
    assert (ours.value.sqlstate, ours.value.message) == (theirs.value.sqlstate, theirs.value.diag.message_primary)
    with pytest.raises(SqlError) as bulk:
        parse_column(type_, pa.array([text]))
    assert bulk.value.message == ours.value.message
