"""The Avro schema of a sink's columns, for a subject of the registry that has none yet.

boolean, real, double precision        boolean, float, double
smallint, integer; bigint              int; long
numeric(p, s)                          bytes: decimal
numeric, rw_int256, interval, jsonb    string, as SQL shows it: no digit is lost
varchar, char, macaddr, inet, cidr, ranges   string
bit, vector; uuid                      string; string: uuid
bytea                                  bytes
date; time                             int: date; long: time-micros
timestamp; timestamptz                 long: local-timestamp-micros; long: timestamp-micros
timestamp_ns                           long: local-timestamp-nanos
arrays, structs, maps                  arrays, records, maps

Every field is a union with null, whose default is null: so later versions may have more and fewer fields.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from risingpy.errors import InvalidParameterValue
from risingpy.types import SqlType, TypeKind

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PLAIN: Mapping[TypeKind, Any] = MappingProxyType(
    {
        TypeKind.BOOLEAN: "boolean",
        TypeKind.SMALLINT: "int",
        TypeKind.INTEGER: "int",
        TypeKind.BIGINT: "long",
        TypeKind.REAL: "float",
        TypeKind.DOUBLE: "double",
        TypeKind.BYTEA: "bytes",
        TypeKind.UUID: {"type": "string", "logicalType": "uuid"},
        TypeKind.DATE: {"type": "int", "logicalType": "date"},
        TypeKind.TIME: {"type": "long", "logicalType": "time-micros"},
        TypeKind.TIMESTAMP: {"type": "long", "logicalType": "local-timestamp-micros"},
        TypeKind.TIMESTAMPTZ: {"type": "long", "logicalType": "timestamp-micros"},
        TypeKind.TIMESTAMP_NS: {"type": "long", "logicalType": "local-timestamp-nanos"},
    }
)


def record_schema(columns: Sequence[tuple[str, SqlType]], name: str) -> str:
    """The text of the record with these columns as its fields. Raises InvalidParameterValue for other names."""
    return json.dumps(_record(columns, name))


def record_name(text: str) -> str:
    """The text with underscores in place of what Avro's names cannot have."""
    name = re.sub(r"[^A-Za-z0-9_]", "_", text)
    return name if _NAME.fullmatch(name) else f"_{name}"


def _record(columns: Sequence[tuple[str, SqlType]], name: str) -> Any:
    for column, _ in columns:
        if not _NAME.fullmatch(column):
            hint = "Give it another name in the sink's query: letters, digits and underscores."
            raise InvalidParameterValue(f'"{column}" cannot be the name of a field in Avro', hint=hint)
    fields = [
        {"name": column, "type": ["null", _type(type_, f"{name}_{column}")], "default": None}
        for column, type_ in columns
    ]
    return {"type": "record", "name": name, "fields": fields}


def _type(type_: SqlType, name: str) -> Any:
    """`name` is that of a record, if the type is one."""
    match type_.kind:
        case TypeKind.ARRAY:
            return {"type": "array", "items": ["null", _type(type_.element, f"{name}_item")]}
        case TypeKind.MAP:
            return {"type": "map", "values": ["null", _type(type_.items[1], f"{name}_value")]}
        case TypeKind.STRUCT:
            return _record(list(zip(type_.names, type_.items, strict=True)), name)
        case TypeKind.NUMERIC if not type_.is_wide:
            found = type_.arrow
            return {"type": "bytes", "logicalType": "decimal", "precision": found.precision, "scale": found.scale}
    return _PLAIN.get(type_.kind, "string")
