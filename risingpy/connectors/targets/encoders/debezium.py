"""FORMAT DEBEZIUM ENCODE JSON: a message is a change with the row before and after it; a tombstone follows a delete.

    key    {"schema": …, "payload": {"id": 1}}
    value  {"schema": …, "payload": {"before": …, "after": …, "op": "c" | "u" | "d", "ts_ms": …, "source": …}}

`ts_ms` is the time of the delivery, as in RisingWave: the time at which the change was processed.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.connectors.targets.encoders.changes import Updates, column, ops_of, pair_updates
from risingpy.connectors.targets.encoders.connect_schema import (
    DATABASE,
    compact_json,
    connect_struct,
    record_name,
)
from risingpy.connectors.targets.encoders.encoder import Messages
from risingpy.connectors.targets.encoders.json_leaves import DateForm, JsonForms
from risingpy.connectors.targets.encoders.json_objects import JsonObjects
from risingpy.connectors.targets.encoders.plain import as_bytes
from risingpy.connectors.targets.target import SinkSchema

_FORMS = JsonForms(date=DateForm.DAYS_OF_EPOCH, time_in_micros=True)


class DebeziumMessages:
    """A `MessageEncoder` of changes. The schema has a primary key."""

    def __init__(self, schema: SinkSchema) -> None:
        self._key_columns = schema.primary_key
        self._columns = len(schema.columns)
        key = [schema.columns[index] for index in schema.primary_key]
        self._keys = JsonObjects(key, _FORMS)
        self._rows = JsonObjects(schema.columns, _FORMS)
        self._key_prefix = (
            '{"schema":' + compact_json(connect_struct(key, _FORMS, record_name(schema, "Key"))) + ',"payload":'
        )
        self._prefix = '{"schema":' + compact_json(_envelope(schema)) + ',"payload":{"before":'
        self._source = {"db": DATABASE, "table": schema.name}

    def encode(self, changes: pa.Table) -> Messages:
        arrays = [column(changes, index) for index in range(self._columns)]
        rows = self._rows.rows(arrays)
        keys = self._keys.rows([arrays[index] for index in self._key_columns])
        updates = pair_updates(ops_of(changes), keys)
        keys = pc.binary_join_element_wise(self._key_prefix, keys.take(pa.array(updates.rows)), "}", "")
        return _with_tombstones(updates, as_bytes(keys), as_bytes(self._values(rows, updates)))

    def _values(self, rows: pa.Array, updates: Updates) -> pa.Array:
        now = time.time_ns() // 1_000_000
        end = f',"ts_ms":{now},"source":{compact_json({**self._source, "ts_ms": now})}' + "}}"
        op = np.where(updates.after < 0, "d", np.where(updates.before < 0, "c", "u"))
        before, after = _taken(rows, updates.before), _taken(rows, updates.after)
        return pc.binary_join_element_wise(
            self._prefix, before, ',"after":', after, ',"op":"', pa.array(op), '"', end, ""
        )


def _taken(rows: pa.Array, positions: np.typing.NDArray[np.int64]) -> pa.Array:
    """The rows at the positions, and `null` for a position below 0."""
    return pc.fill_null(rows.take(pa.array(positions, mask=positions < 0)), "null")


def _with_tombstones(updates: Updates, keys: pa.Array, values: pa.Array) -> Messages:
    """The messages, each delete followed by a message with its key and no value."""
    deleted = updates.after < 0
    times = np.where(deleted, 2, 1)
    positions = np.repeat(np.arange(len(keys), dtype=np.int64), times)
    first = np.zeros(len(positions), bool)
    first[np.cumsum(times) - times] = True
    return Messages(keys.take(pa.array(positions)), values.take(pa.array(positions, mask=~first)))


def _envelope(schema: SinkSchema) -> Mapping[str, object]:
    row = connect_struct(schema.columns, _FORMS, record_name(schema, "Value"), optional=True)
    source: list[Mapping[str, object]] = [_field("db", "string"), _field("table", "string"), _field("ts_ms", "int64")]
    source_name = record_name(schema, "Source")
    fields: list[Mapping[str, object]] = [
        {**row, "field": "before"},
        {**row, "field": "after"},
        _field("op", "string"),
        _field("ts_ms", "int64"),
        {"type": "struct", "fields": source, "optional": False, "name": source_name, "field": "source"},
    ]
    return {"type": "struct", "fields": fields, "optional": False, "name": record_name(schema, "Envelope")}


def _field(name: str, kind: str) -> Mapping[str, object]:
    return {"type": kind, "optional": False, "field": name}
