"""Random schemas of Avro with values, fastavro's encoding of them, and what our columns must hold."""

from __future__ import annotations

import datetime as dt
import io
import random
import struct
import uuid
from decimal import Decimal
from typing import Any

import fastavro

from risingpy.types import SqlType, TypeKind, wide_numeric

Schema = Any
_LEAVES: tuple[Schema, ...] = (
    *("null", "boolean", "int", "long", "float", "double", "bytes", "string"),
    {"type": "bytes", "logicalType": "decimal", "precision": 20, "scale": 4},
    {"type": "int", "logicalType": "date"},
    {"type": "int", "logicalType": "time-millis"},
    {"type": "long", "logicalType": "time-micros"},
    {"type": "long", "logicalType": "timestamp-millis"},
    {"type": "long", "logicalType": "timestamp-micros"},
    {"type": "long", "logicalType": "local-timestamp-micros"},
    {"type": "string", "logicalType": "uuid"},
)
_MONEY = {"logicalType": "decimal", "precision": 20, "scale": 2}
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


class Chance:
    """A source of schemas and values, the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._names = 0

    def record(self, depth: int = 3) -> Schema:
        """A record of one to eight fields."""
        fields = [{"name": f"f{k}", "type": self._type(depth)} for k in range(self._random.randint(1, 8))]
        return {"type": "record", "name": self._name(), "fields": fields}

    def _name(self) -> str:
        self._names += 1
        return f"N{self._names}"

    def _type(self, depth: int) -> Schema:
        kind = self._random.choice(["leaf"] * 5 + ["optional"] * 3 + ["named", "array", "map", "record"])
        if depth == 0 or kind == "leaf":
            return self._random.choice(_LEAVES)
        match kind:
            case "optional":
                other = self._type(depth - 1)
                if isinstance(other, list) or other == "null":
                    other = "long"
                return self._random.choice([["null", other], [other, "null"]])
            case "named":
                return self._random.choice(
                    [
                        {"type": "enum", "name": self._name(), "symbols": ["RED", "GREEN", "BLUE"]},
                        {"type": "fixed", "name": self._name(), "size": 5},
                        {"type": "fixed", "name": self._name(), "size": 12, "logicalType": "duration"},
                        {"type": "fixed", "name": self._name(), "size": 9, **_MONEY},
                    ]
                )
            case "array":
                return {"type": "array", "items": self._type(depth - 1)}
            case "map":
                return {"type": "map", "values": self._type(depth - 1)}
        return self.record(depth - 1)

    def value(self, schema: Schema) -> Any:
        """A value that fastavro encodes."""
        chance = self._random
        if isinstance(schema, list):
            return self.value(chance.choice(schema))
        kind = schema if isinstance(schema, str) else schema["type"]
        if isinstance(schema, dict) and "logicalType" in schema:
            return self._logical(schema)
        match kind:
            case "null":
                return None
            case "boolean":
                return chance.random() < 0.5
            case "int":
                return chance.choice([0, -1, 2**31 - 1, -(2**31), chance.randint(-999, 999)])
            case "long":
                return chance.choice([0, -1, 2**63 - 1, -(2**63), chance.getrandbits(40)])
            case "float":
                return struct.unpack("<f", struct.pack("<f", chance.uniform(-1e6, 1e6)))[0]
            case "double":
                return chance.choice([0.0, -0.5, 1e300, float("inf"), chance.random()])
            case "bytes":
                return chance.randbytes(chance.randint(0, 9))
            case "string":
                return "".join(chance.choices("aé😀\0 \"'", k=chance.randint(0, 9)))
            case "enum":
                return chance.choice(schema["symbols"])
            case "fixed":
                return chance.randbytes(schema["size"])
            case "array":
                return [
                    self.value(schema["items"])
                    for _ in range(chance.choice([0, 1, 3, 80]) if chance.random() < 0.2 else 2)
                ]
            case "map":
                return {f"k{k}": self.value(schema["values"]) for k in range(chance.randint(0, 3))}
        return {field["name"]: self.value(field["type"]) for field in schema["fields"]}

    def _logical(self, schema: Schema) -> Any:
        chance = self._random
        moment = _EPOCH + dt.timedelta(microseconds=chance.randint(-(10**15), 4 * 10**15))
        match schema["logicalType"]:
            case "decimal":
                return Decimal(chance.randint(-(10**18), 10**18)).scaleb(-schema["scale"])
            case "date":
                return moment.date()
            case "time-millis":
                return moment.time().replace(microsecond=moment.microsecond // 1000 * 1000)
            case "time-micros":
                return moment.time()
            case "timestamp-millis":
                return moment.replace(microsecond=moment.microsecond // 1000 * 1000)
            case "timestamp-micros":
                return moment
            case "local-timestamp-micros":
                return moment.replace(tzinfo=None)
            case "uuid":
                return str(uuid.UUID(int=chance.getrandbits(128)))
        return chance.randbytes(schema["size"])


def encoded(schema: Schema, value: Any, schema_id: int | None = None) -> bytes:
    """fastavro's encoding of a value, after the header of a registry's message if there is an id."""
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), value)
    header = b"" if schema_id is None else b"\0" + schema_id.to_bytes(4, "big")
    return header + out.getvalue()


def expected(schema: Schema, payload: bytes) -> Any:
    """What fastavro reads of a payload, as `plain` shows our values."""
    found = fastavro.schemaless_reader(io.BytesIO(payload), fastavro.parse_schema(schema), None)
    return _shown(schema, found)


def _shown(schema: Schema, value: Any) -> Any:
    if isinstance(schema, list):
        (other,) = [each for each in schema if each != "null"]
        return None if value is None else _shown(other, value)
    kind = schema if isinstance(schema, str) else schema["type"]
    if isinstance(schema, dict) and schema.get("logicalType") == "duration":
        months, days, millis = struct.unpack("<III", value)
        return months, days, millis * 10**6
    match kind:
        case "array":
            return [_shown(schema["items"], item) for item in value]
        case "map":
            return {key: _shown(schema["values"], item) for key, item in value.items()}
        case "record":
            return {field["name"]: _shown(field["type"], value[field["name"]]) for field in schema["fields"]}
    return str(value) if isinstance(value, uuid.UUID) else value


def plain(type_: SqlType, value: Any) -> Any:
    """A value of an Arrow column, as `expected` shows it."""
    if value is None:
        return None
    match type_.kind:
        case TypeKind.NUMERIC:
            return wide_numeric.to_decimal(value)
        case TypeKind.INTERVAL:
            signed = [value.months % 2**32, value.days % 2**32, value.nanoseconds]
            return tuple(signed)
        case TypeKind.ARRAY:
            return [plain(type_.element, item) for item in value]
        case TypeKind.MAP:
            return {key: plain(type_.items[1], item) for key, item in value}
        case TypeKind.STRUCT:
            return {name: plain(item, value[name]) for name, item in zip(type_.names, type_.items, strict=True)}
        case TypeKind.TIMESTAMPTZ:
            return value.astimezone(dt.UTC)
    return value
