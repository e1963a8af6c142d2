"""Columns as JSON objects, one a row, made by DuckDB."""

from __future__ import annotations

import json
from collections.abc import Sequence

import duckdb
import pyarrow as pa

from risingpy.connectors.targets.encoders.json_leaves import JsonForms, JsonLeaves, query_column
from risingpy.connectors.targets.encoders.leaves import replace_leaves
from risingpy.sql_quoting import quoted_text
from risingpy.types import SqlType, TypeKind

_SHOWN_AS_TEXT = (TypeKind.BOOLEAN, TypeKind.SMALLINT, TypeKind.INTEGER, TypeKind.BIGINT)


class JsonObjects:
    """Writes rows of named columns as JSON objects: `{"a":1,"b":"x"}`, the columns in their order. NULL is `null`."""

    def __init__(self, columns: Sequence[tuple[str, SqlType]], forms: JsonForms) -> None:
        # One thread, and none for remote files, which there are not: a sink's thread does the work.
        self._connection = duckdb.connect(":memory:", config={"threads": 1, "async_threads": 0, "temp_directory": ""})
        self._columns = columns
        self._leaves = JsonLeaves(forms, self._connection)
        pieces = [
            f"{quoted_text(('{' if index == 0 else ',') + json.dumps(name, ensure_ascii=False) + ':')}, "
            f"{_value(index, type_, forms)}"
            for index, (name, type_) in enumerate(columns)
        ]
        self._query = f"SELECT concat({', '.join(pieces)}, '}}') AS v FROM rows"

    def rows(self, arrays: Sequence[pa.Array]) -> pa.Array:
        """A string array: the object of each row. `arrays` are of the columns' types, all of one length."""
        if not len(arrays[0]):
            return pa.array([], pa.string())
        shaped = [
            replace_leaves(type_, array, self._leaves) for array, (_, type_) in zip(arrays, self._columns, strict=True)
        ]
        table = pa.table(shaped, names=[f"c{index}" for index in range(len(shaped))])
        return query_column(self._connection, table, self._query)


def _value(index: int, type_: SqlType, forms: JsonForms) -> str:
    """The JSON text of a column. A jsonb's own text is taken as it is: DuckDB would round its numbers."""
    if type_.kind in _SHOWN_AS_TEXT:
        return f"coalesce(c{index}::VARCHAR, 'null')"
    if type_.kind is TypeKind.JSONB and forms.json_as_json:
        return f"coalesce(translate(c{index}::VARCHAR, chr(10) || chr(13), '  '), 'null')"
    return f"coalesce(to_json(c{index})::VARCHAR, 'null')"
