"""Kafka Connect's schema of rows, which stands in JSON messages beside the payload: `schemas.enable`, and Debezium.

{"schema": {"type": "struct", "fields": [{"type": "int32", "optional": true, "field": "id"}], …}, "payload": …}
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import pyarrow as pa
import pyarrow.compute as pc

from risingpy.connectors.targets.encoders.json_leaves import JsonForms, TimestamptzForm
from risingpy.connectors.targets.encoders.plain import RowTexts
from risingpy.connectors.targets.target import SinkSchema
from risingpy.types import SqlType, TypeKind

DATABASE = "dev"
_CONNECT_TYPES: Mapping[TypeKind, str] = MappingProxyType(
    {
        TypeKind.BOOLEAN: "boolean",
        TypeKind.SMALLINT: "int16",
        TypeKind.INTEGER: "int32",
        TypeKind.BIGINT: "int64",
        TypeKind.REAL: "float",
        TypeKind.DOUBLE: "double",
        TypeKind.DATE: "int32",
        TypeKind.TIME: "int64",
        TypeKind.TIMESTAMP: "int64",
        TypeKind.ARRAY: "array",
        TypeKind.STRUCT: "struct",
        TypeKind.MAP: "map",
    }
)
"""Kafka Connect's type of each kind; a text is what all others are."""
_NUMBERS = (TimestamptzForm.MICRO, TimestamptzForm.MILLI)


@dataclass(frozen=True, slots=True)
class WithSchema:
    """`RowTexts` in which each text is the payload beside a schema."""

    schema: Mapping[str, object]
    payloads: RowTexts

    def rows(self, arrays: Sequence[pa.Array]) -> pa.Array:
        prefix = '{"schema":' + compact_json(self.schema) + ',"payload":'
        return pc.binary_join_element_wise(prefix, self.payloads.rows(arrays), "}", "")


def connect_struct(
    columns: Sequence[tuple[str, SqlType]], forms: JsonForms, name: str, *, optional: bool = False
) -> Mapping[str, object]:
    """The schema of rows that are written in these forms."""
    fields = [{**_connect_type(type_, forms), "optional": True, "field": column} for column, type_ in columns]
    return {"type": "struct", "fields": fields, "optional": optional, "name": name}


def _connect_type(type_: SqlType, forms: JsonForms) -> Mapping[str, object]:
    kind = _CONNECT_TYPES.get(type_.kind, "string")
    match type_.kind:
        case TypeKind.TIMESTAMPTZ if forms.timestamptz in _NUMBERS:
            return {"type": "int64"}
        case TypeKind.ARRAY:
            return {"type": kind, "items": _connect_type(type_.element, forms)}
        case TypeKind.MAP:
            return {"type": kind, "keys": {"type": "string"}, "values": _connect_type(type_.items[1], forms)}
        case TypeKind.STRUCT:
            fields = [
                {**_connect_type(item, forms), "optional": True, "field": name}
                for name, item in zip(type_.names, type_.items, strict=True)
            ]
            return {"type": kind, "fields": fields}
    return {"type": kind}


def record_name(schema: SinkSchema, part: str) -> str:
    """The name of a record of the sink's messages."""
    return f"RisingPy.{DATABASE}.{schema.name}.{part}"


def compact_json(value: object) -> str:
    """`value` as JSON without blanks."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
