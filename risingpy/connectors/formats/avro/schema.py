"""Avro schemas (Avro 1.12 specification) as types, and the SQL types that they are."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from risingpy.errors import FeatureNotSupported, InvalidParameterValue
from risingpy.types import (
    BIGINT,
    BOOLEAN,
    BYTEA,
    DATE,
    DOUBLE,
    INTEGER,
    INTERVAL,
    JSONB,
    NUMERIC,
    REAL,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    VARCHAR,
    SqlType,
    array_of,
    map_of,
    struct_of,
)

_PRIMITIVE: Mapping[str, SqlType] = {
    "null": VARCHAR,
    "boolean": BOOLEAN,
    "int": INTEGER,
    "long": BIGINT,
    "float": REAL,
    "double": DOUBLE,
    "bytes": BYTEA,
    "string": VARCHAR,
}
_LOGICAL: Mapping[str, tuple[frozenset[str], SqlType]] = {
    "decimal": (frozenset({"bytes", "fixed"}), NUMERIC),
    "date": (frozenset({"int"}), DATE),
    "time-millis": (frozenset({"int"}), TIME),
    "time-micros": (frozenset({"long"}), TIME),
    "timestamp-millis": (frozenset({"long"}), TIMESTAMPTZ),
    "timestamp-micros": (frozenset({"long"}), TIMESTAMPTZ),
    "timestamp-nanos": (frozenset({"long"}), TIMESTAMPTZ),
    "local-timestamp-millis": (frozenset({"long"}), TIMESTAMP),
    "local-timestamp-micros": (frozenset({"long"}), TIMESTAMP),
    "local-timestamp-nanos": (frozenset({"long"}), TIMESTAMP),
    "uuid": (frozenset({"string", "fixed"}), VARCHAR),
    "duration": (frozenset({"fixed"}), INTERVAL),
}
_DURATION_BYTES, _UUID_BYTES = 12, 16
MAX_DEPTH = 100
MAX_PLACES = 10_000


@dataclass(frozen=True, slots=True)
class AvroField:
    """A field of a record. `default` is JSON text, None if there is none."""

    name: str
    type: AvroType
    aliases: tuple[str, ...] = ()
    default: str | None = None


@dataclass(frozen=True, slots=True)
class AvroType:
    """A type of a schema.

    `kind` is Avro's name of it; `logical` is set for logical types that stand on the right type, since a reader ignores
    others. `items` are an array's item, a map's value, or a union's branches. `name` is the full name of a named type.
    """

    kind: str
    logical: str = ""
    scale: int = 0
    size: int = 0
    symbols: tuple[str, ...] = ()
    fields: tuple[AvroField, ...] = ()
    items: tuple[AvroType, ...] = ()
    name: str = ""

    def field(self, name: str) -> AvroField | None:
        """A record's field of that name, else of that alias, else of that name but for case."""
        found = [field for field in self.fields if field.name == name]
        found += [field for field in self.fields if name in field.aliases]
        found += [field for field in self.fields if field.name.lower() == name.lower()]
        return found[0] if found else None

    @property
    def row(self) -> AvroType:
        """The record of a union of null and a record; any other type is its own."""
        others = [item for item in self.items if item.kind != "null"]
        return others[0] if self.kind == "union" and len(others) == 1 else self


def parse_schema(text: str, references: Sequence[str] = ()) -> AvroType:
    """The type of a schema; `references` are the schemas of the types that it names, in the order of their use.

    Raises InvalidParameterValue for what is no schema, FeatureNotSupported for types that contain themselves, and for
    more than MAX_PLACES places of values.
    """
    names: dict[str, AvroType] = {}
    try:
        for reference in references:
            _SchemaParser(names).parse(_json(reference), "", 0)
        found = _SchemaParser(names).parse(_json(text), "", 0)
    except (TypeError, AttributeError, RecursionError) as error:  # a number where a list should be, say
        raise InvalidParameterValue(f"no Avro schema: {error}") from error
    if _places(found, {}) > MAX_PLACES:
        raise FeatureNotSupported(f"an Avro schema of more than {MAX_PLACES} values is not supported")
    return found


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        name = text.strip()  # of a type alone, which a registry may send without quotation marks
        if name in _PRIMITIVE:
            return name
        raise InvalidParameterValue("the Avro schema is no JSON") from None


def _places(type_: AvroType, known: dict[int, int]) -> int:
    """How many values a record has at most but for lists: named types count wherever they are used."""
    if id(type_) not in known:
        inner = (*(field.type for field in type_.fields), *type_.items)
        known[id(type_)] = 1 + sum(_places(each, known) for each in inner)
    return known[id(type_)]


class _SchemaParser:
    """Reads a schema. `names` are the named types that are complete, by full name."""

    def __init__(self, names: dict[str, AvroType]) -> None:
        self._names = names
        self._open: set[str] = set()

    def parse(self, schema: Any, namespace: str, depth: int) -> AvroType:
        if depth > MAX_DEPTH:
            raise FeatureNotSupported(f"an Avro schema of more than {MAX_DEPTH} levels is not supported")
        match schema:
            case str():
                return self._named(schema, namespace)
            case list():
                return AvroType("union", items=tuple(self.parse(each, namespace, depth + 1) for each in schema))
            case {"type": str(kind)}:
                return self._complex(kind, schema, namespace, depth)
            case {"type": inner}:
                return self.parse(inner, namespace, depth + 1)
        raise InvalidParameterValue(f"no Avro schema: {json.dumps(schema)[:100]}")

    def _named(self, name: str, namespace: str) -> AvroType:
        if name in _PRIMITIVE:
            return AvroType(name)
        for full in (_full_name(name, namespace), name):
            if full in self._names:
                return self._names[full]
            if full in self._open:
                raise FeatureNotSupported(f'the Avro type "{full}" contains itself, which is not supported')
        raise InvalidParameterValue(f'unknown type "{name}" in an Avro schema')

    def _complex(self, kind: str, schema: dict[str, Any], namespace: str, depth: int) -> AvroType:
        match kind:
            case "array" | "map":
                inner = self.parse(schema.get("items" if kind == "array" else "values"), namespace, depth + 1)
                return AvroType(kind, items=(inner,))
            case "record" | "error" | "enum" | "fixed":
                return self._definition(kind, schema, namespace, depth)
        return _with_logical(self._named(kind, namespace), schema)

    def _definition(self, kind: str, schema: dict[str, Any], namespace: str, depth: int) -> AvroType:
        name = schema.get("name")
        if not isinstance(name, str):
            raise InvalidParameterValue(f"an Avro {kind} needs a name")
        full = _full_name(name, schema.get("namespace", namespace))
        if kind == "enum":
            found = AvroType(kind, symbols=tuple(map(str, schema.get("symbols", ()))), name=full)
        elif kind == "fixed":
            size = schema.get("size")
            if not isinstance(size, int) or size < 0:
                raise InvalidParameterValue(f'the Avro fixed "{full}" needs a size')
            found = _with_logical(AvroType(kind, size=size, name=full), schema)
        else:
            self._open.add(full)
            inner = full.rpartition(".")[0]
            fields = tuple(self._field(field, inner, depth) for field in schema.get("fields", ()))
            self._open.discard(full)
            found = AvroType("record", fields=fields, name=full)
        self._names[full] = found
        return found

    def _field(self, field: Any, namespace: str, depth: int) -> AvroField:
        if not isinstance(field, dict) or not isinstance(field.get("name"), str) or "type" not in field:
            raise InvalidParameterValue(f"no field of an Avro record: {json.dumps(field)[:100]}")
        default = json.dumps(field["default"]) if "default" in field else None
        aliases = tuple(map(str, field.get("aliases", ())))
        return AvroField(field["name"], self.parse(field["type"], namespace, depth + 1), aliases, default)


def _full_name(name: str, namespace: str) -> str:
    return name if "." in name or not namespace else f"{namespace}.{name}"


def _with_logical(type_: AvroType, schema: dict[str, Any]) -> AvroType:
    """The type with its logical type, if that may stand on it."""
    logical = schema.get("logicalType")
    if not isinstance(logical, str) or logical not in _LOGICAL or type_.kind not in _LOGICAL[logical][0]:
        return type_
    sizes = {"duration": _DURATION_BYTES, "uuid": _UUID_BYTES}
    if type_.kind == "fixed" and type_.size != sizes.get(logical, type_.size):
        return type_
    scale = schema.get("scale", 0)
    if logical == "decimal" and (not isinstance(scale, int) or not 0 <= scale <= 38):
        return type_
    return AvroType(type_.kind, logical, scale if logical == "decimal" else 0, type_.size, name=type_.name)


def sql_type(type_: AvroType, *, maps_as_jsonb: bool = False) -> SqlType:
    """The SQL type of what a type of Avro holds, as in RisingWave.

    A union of null and another type is the other type; of several others it is a struct with a field for each.
    """
    if type_.logical:
        return _LOGICAL[type_.logical][1]
    inner = [sql_type(item, maps_as_jsonb=maps_as_jsonb) for item in type_.items if item.kind != "null"]
    match type_.kind:
        case "fixed":
            return BYTEA
        case "enum":
            return VARCHAR
        case "array":
            return array_of(inner[0] if inner else VARCHAR)
        case "map":
            return JSONB if maps_as_jsonb else map_of(VARCHAR, inner[0] if inner else VARCHAR)
        case "record":
            types = [sql_type(field.type, maps_as_jsonb=maps_as_jsonb) for field in type_.fields]
            return struct_of([field.name for field in type_.fields], types)
        case "union":
            if len(inner) > 1:
                return struct_of(branch_names(type_), inner)
            return inner[0] if inner else VARCHAR
    return _PRIMITIVE[type_.kind]


def branch_names(union: AvroType) -> list[str]:
    """The names of a union's branches but null, as fields of a struct: a type's full name, or its kind."""
    return [item.name or item.kind for item in union.items if item.kind != "null"]
