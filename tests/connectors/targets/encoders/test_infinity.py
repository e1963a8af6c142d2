"""What is infinite in SQL, for systems without infinite dates: null in JSON, an error elsewhere."""

from __future__ import annotations

import duckdb
import pyarrow as pa
import pytest

from risingpy.connectors.targets.encoders.json_leaves import JsonForms, JsonLeaves, TimestamptzForm
from risingpy.connectors.targets.encoders.leaves import refuse_infinity
from risingpy.connectors.targets.lake_columns import lake_leaf
from risingpy.errors import SqlError
from risingpy.types import DATE, TIMESTAMP, TIMESTAMPTZ, SqlType
from risingpy.types.far_moments import INFINITE_DAYS, INFINITE_MICROS

_COLUMNS = [
    (DATE, pa.array([INFINITE_DAYS, -INFINITE_DAYS, None, 1], pa.date32())),
    (TIMESTAMP, pa.array([INFINITE_MICROS, -INFINITE_MICROS, None, 1000], pa.timestamp("us"))),
    (TIMESTAMPTZ, pa.array([INFINITE_MICROS, -INFINITE_MICROS, None, 1000], pa.timestamp("us", "UTC"))),
]


@pytest.mark.parametrize(("type_", "column"), _COLUMNS)
def test_json_has_null(type_: SqlType, column: pa.Array) -> None:
    for form in TimestamptzForm:
        values = JsonLeaves(JsonForms(timestamptz=form), duckdb.connect())(type_, column).to_pylist()
        assert values[:3] == [None, None, None]
        assert values[3] is not None


@pytest.mark.parametrize(("type_", "column"), _COLUMNS)
def test_lakes_refuse_it(type_: SqlType, column: pa.Array) -> None:
    with pytest.raises(SqlError, match="has no infinite dates and timestamps") as caught:
        lake_leaf(type_, column)
    assert caught.value.sqlstate == "22008"
    assert lake_leaf(type_, column.slice(2)).equals(column.slice(2))
    assert refuse_infinity(column.slice(0, 0), "Avro").equals(column.slice(0, 0))


def test_a_text_of_iso_8601_has_four_digits_of_the_year() -> None:
    column = pa.array([2**60], pa.timestamp("us", "UTC"))
    with pytest.raises(SqlError, match="outside of the years 1 to 9999"):
        JsonLeaves(JsonForms(), duckdb.connect())(TIMESTAMPTZ, column)
