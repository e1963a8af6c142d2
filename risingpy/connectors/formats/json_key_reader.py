"""Keys of messages whose payloads are JSON: an object with the columns of the primary key, or the plain value of one.

An object may stand in an envelope of `schema` and `payload`, as Kafka Connect writes it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.connectors.formats.columns import Positions, Reasons, parsed, spread, texts_of
from risingpy.connectors.formats.handling import Handling
from risingpy.connectors.formats.json_queries import JsonQueries
from risingpy.connectors.formats.json_reader import JsonReader
from risingpy.types import SqlType, TypeKind

# Keys that are plain texts need not be JSON: json_valid keeps DuckDB from failing at them.
_PARTS = """SELECT kind, CASE WHEN kind = 'VARCHAR' THEN json_extract_string(t, '$') ELSE t END AS plain,
    CASE WHEN kind = 'OBJECT' THEN coalesce(CASE WHEN json_type(t, '$.payload') = 'OBJECT' THEN t->'$.payload' END, t)
    END AS object
FROM (SELECT t, CASE WHEN json_valid(t) THEN json_type(t) END AS kind FROM texts)"""


class JsonKeyReader:
    """See `payload_reader.KeyReader`. A plain value is read if the primary key is one column; bytea as it is."""

    def __init__(self, columns: Sequence[tuple[str, SqlType]], handling: Handling) -> None:
        self._columns = columns
        self._handling = handling
        self._reader = JsonReader(columns, handling)
        self._queries = JsonQueries()

    def read(self, keys: pa.Array, messages: Positions, reasons: Reasons) -> list[pa.Array]:
        if [type_.kind for _, type_ in self._columns] == [TypeKind.BYTEA]:
            return [keys]
        there = keys.is_valid().to_numpy(zero_copy_only=False)
        texts = texts_of(keys.filter(pa.array(there)), messages[there], reasons)
        parts = self._queries.run(_PARTS, texts)
        rows = np.flatnonzero(there)
        is_object = pc.fill_null(pc.equal(parts["kind"], "OBJECT"), False).combine_chunks()
        of_objects = is_object.to_numpy(zero_copy_only=False)
        objects = parts["object"].combine_chunks().filter(is_object).cast(pa.binary())
        found = spread(self._reader.read(objects, messages[rows[of_objects]], reasons), rows[of_objects], len(keys))
        if of_objects.all():
            return found
        if len(self._columns) > 1:
            return found
        ((name, type_),) = self._columns
        plain = parts["plain"].combine_chunks().filter(pc.invert(is_object))
        rest = rows[~of_objects]
        (values,) = spread([parsed(name, type_, plain, messages[rest], reasons, self._handling)], rest, len(keys))
        return [pc.coalesce(found[0], values) if of_objects.any() else values]
