"""ENCODE AVRO: each payload is a record, whose fields are the columns by name.

The schema that a message was written with is resolved to the columns as Avro says it: by the field's name, then by an
alias of either schema; a field that was not there yet has the default of the source's schema, else NULL.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from risingpy.connectors.formats.avro.arrays import ArrayBuilder, add_reasons, run_program
from risingpy.connectors.formats.avro.program import Program, compiled, compiled_value
from risingpy.connectors.formats.avro.schema import AvroField, AvroType
from risingpy.connectors.formats.avro.schemas import Group, WriterSchemas
from risingpy.connectors.formats.columns import DEFAULT_HANDLING, Positions, Reasons, spread
from risingpy.connectors.formats.conversion import converted
from risingpy.connectors.formats.json_reader import JsonReader
from risingpy.types import SqlType

Columns = Sequence[tuple[str, SqlType]]


@dataclass(frozen=True, slots=True)
class _Plan:
    """How messages of one schema become columns: by column, the field of the record, or the value of all rows."""

    program: Program
    fields: tuple[int | None, ...]
    defaults: tuple[pa.Scalar | None, ...]


class AvroReader:
    """See `payload_reader.PayloadReader`.

    `source` is the source's schema, where one is known. `part` is the name of the field that the payload is of, instead
    of the whole record: `after` of an envelope. A payload that is no record is the value of each column.
    """

    def __init__(
        self, columns: Columns, schemas: WriterSchemas, source: AvroType | None, *, part: str | None = None
    ) -> None:
        self._columns = columns
        self._schemas = schemas
        self._source = source if source is None else _part(source, part)
        self._part_name = part
        self._plans: dict[int, _Plan] = {}

    def read(self, payloads: pa.Array, messages: Positions, reasons: Reasons) -> list[pa.Array]:
        parts: list[tuple[Positions, list[pa.Array]]] = []
        for group in self._schemas.groups(payloads, messages, reasons):
            plan = self._plans.get(group.schema_id)
            if plan is None:
                plan = self._plans[group.schema_id] = self._planned(group.schema)
            parts.append(self._read(group, plan, messages, reasons))
        if not parts:
            return [pa.nulls(len(payloads), type_.arrow) for _, type_ in self._columns]
        rows = np.concatenate([part for part, _ in parts])
        columns = [pa.concat_arrays(arrays) for arrays in zip(*(found for _, found in parts), strict=True)]
        if len(parts) > 1:
            order = np.argsort(rows)
            rows, columns = rows[order], [column.take(pa.array(order)) for column in columns]
        return spread(columns, rows, len(payloads))

    def _read(
        self, group: Group, plan: _Plan, messages: Positions, reasons: Reasons
    ) -> tuple[Positions, list[pa.Array]]:
        """The good rows of a group, and their columns."""
        found = run_program(plan.program, group.data, group.starts, group.ends)
        add_reasons(found, messages[group.rows], reasons)
        rows = group.rows[found.status == 0]
        builder, owners = ArrayBuilder(found, reasons), messages[rows]
        columns = []
        for (name, type_), field, default in zip(self._columns, plan.fields, plan.defaults, strict=True):
            slot = None if field is None else plan.program.slots[field]
            if slot is not None:
                values = builder.values(slot, owners)
                columns.append(converted(name, values.array, values.type, type_, owners, reasons))
            elif default is not None:
                columns.append(pa.repeat(default, len(rows)))
            else:
                columns.append(pa.nulls(len(rows), type_.arrow))
        return rows, columns

    def _planned(self, schema: AvroType) -> _Plan:
        schema = _part(schema, self._part_name)
        if schema.kind != "record":
            program = compiled_value(schema)
            return _Plan(program, tuple(0 for _ in self._columns), tuple(None for _ in self._columns))
        fields = [self._field(schema, name) for name, _ in self._columns]
        program = compiled(schema, {field.name for field in fields if field is not None})
        places = [None if field is None else schema.fields.index(field) for field in fields]
        defaults = [
            self._default(name, type_) if place is None else None
            for (name, type_), place in zip(self._columns, places, strict=True)
        ]
        return _Plan(program, tuple(places), tuple(defaults))

    def _field(self, schema: AvroType, name: str) -> AvroField | None:
        """The field of a writer's record that a column is."""
        own = None if self._source is None else self._source.field(name)
        by_name = {field.name: field for field in schema.fields}
        for candidate in (name, *(own.aliases if own is not None else ())):
            if candidate in by_name:
                return by_name[candidate]
        return schema.field(name)

    def _default(self, name: str, type_: SqlType) -> pa.Scalar | None:
        """The default of the source's schema for a column; None if it has none."""
        own = None if self._source is None else self._source.field(name)
        if own is None or own.default is None or own.default == "null":
            return None
        text = json.dumps({name: json.loads(own.default)}).encode()
        reasons = Reasons()
        (column,) = JsonReader([(name, type_)], DEFAULT_HANDLING).read(pa.array([text]), np.array([0]), reasons)
        return None if reasons.by_message else column[0]


def _part(schema: AvroType, part: str | None) -> AvroType:
    """The record of a field of the record; the schema itself if no field is asked for or there."""
    found = None if part is None else schema.field(part)
    return schema.row if found is None else found.type.row
