"""Dates and timestamps that Python cannot hold: in columns, in plans, and as DuckDB reads them."""

from __future__ import annotations

import random
from datetime import date

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from risingpy.errors import SqlError
from risingpy.plan import codec
from risingpy.plan.expressions import Literal
from risingpy.types import DATE, TIMESTAMP, TIMESTAMPTZ, SqlType
from risingpy.types.far_moments import (
    END_DAYS,
    END_MICROS,
    INFINITE_DAYS,
    INFINITE_MICROS,
    MIN_DAYS,
    MIN_MICROS,
    NEAR_DAYS,
    FarDate,
    FarMoment,
    calendar_day,
    date_of,
    day_number,
    duckdb_text,
    near_day,
    near_values,
    value_of,
    values_of,
)

_CHANCE = random.Random(7)
_DAYS = [MIN_DAYS, MIN_DAYS + 1, *NEAR_DAYS, NEAR_DAYS[0] - 1, NEAR_DAYS[1] + 1, -1, 0, END_DAYS - 1]
_DAYS += [_CHANCE.randrange(MIN_DAYS, END_DAYS) for _ in range(200)] + [
    _CHANCE.randrange(-(10**6), 0) for _ in range(200)
]
_MICROS = [MIN_MICROS, -1, END_MICROS - 1, *(_CHANCE.randrange(MIN_MICROS, END_MICROS) for _ in range(200))]


def test_days_are_those_of_numpys_calendar() -> None:
    for days in _DAYS:
        year, month, day = calendar_day(days)
        assert day_number(year, month, day) == days
        months = np.datetime64(days, "D").astype("M8[M]")
        assert (year, month) == (int(months.astype("M8[Y]").astype(int)) + 1970, int(months.astype(int)) % 12 + 1)


def test_a_near_day_is_the_same_day_of_another_year() -> None:
    for days in _DAYS:
        near, far = calendar_day(near_day(days)), calendar_day(days)
        assert near[1:] == far[1:] and (near[0] - far[0]) % 400 == 0
        assert 1 <= near[0] <= 9999
        assert near == far or not 1 <= far[0] <= 9599


@pytest.mark.parametrize(("type_", "values"), [(DATE, _DAYS), (TIMESTAMP, _MICROS), (TIMESTAMPTZ, _MICROS)])
def test_duckdb_reads_the_texts_that_it_is_given(type_: SqlType, values: list[int]) -> None:
    infinite = INFINITE_DAYS if type_ == DATE else INFINITE_MICROS
    far = [FarDate(n) if type_ == DATE else FarMoment(n) for n in (*values, infinite, -infinite)]
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    texts = pa.table({"t": [duckdb_text(value) for value in far]})
    result = connection.from_arrow(texts).query("rows", f"SELECT CAST(t AS {type_.duckdb}) AS v FROM rows")
    assert result is not None
    read = result.to_arrow_table()
    numbers = read.column(0).cast(pa.int32()) if type_ == DATE else read.column(0).cast(pa.int64())
    assert numbers.to_pylist() == list(map(int, far))


def test_columns_give_what_arrow_takes() -> None:
    nested = pa.struct([("a", pa.list_(pa.date32())), ("b", pa.timestamp("us", "UTC"))])
    rows = [
        {"a": [FarDate(INFINITE_DAYS), date(2024, 1, 1), None], "b": FarMoment(MIN_MICROS)},
        None,
        {"a": None, "b": None},
        {"a": [], "b": FarMoment(-INFINITE_MICROS)},
    ]
    column = pa.array(rows, nested)
    assert values_of(column) == rows
    assert values_of(column.slice(1)) == rows[1:]
    assert value_of(column, 3) == rows[3]
    assert pa.array(values_of(column), nested).equals(column)
    assert [type(value) for value in values_of(pa.array([5, NEAR_DAYS[1] + 1], pa.date32()))] == [date, FarDate]


def test_python_programs_are_told_what_python_lacks() -> None:
    assert near_values(pa.array([0, None], pa.date32())) == [date(1970, 1, 1), None]
    with pytest.raises(SqlError, match="Python has no infinite dates") as caught:
        near_values(pa.array([INFINITE_DAYS], pa.date32()))
    assert caught.value.sqlstate == "22008"


def test_plans_keep_them() -> None:
    for value, type_ in ((FarDate(-INFINITE_DAYS), DATE), (FarMoment(END_MICROS - 1), TIMESTAMP), (date_of(0), DATE)):
        literal = Literal(value, type_)
        kept = codec.decode(codec.encode((literal,)))[0]
        assert kept == literal
        assert type(kept.value) is type(value)
