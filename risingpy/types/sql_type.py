"""SQL types: one immutable value per type, and what each is on the wire, in Arrow and in DuckDB.

A NUMERIC always has a physical precision and scale. Up to 38 digits it is Arrow's decimal128; the one of 90 digits is
wide, a byte string (`wide_numeric`): a plain `numeric`, a quotient, an average. `declared` tells a column that the user
wrote as `numeric(p, s)` from a computed or plain `numeric` (PostgreSQL's typmod -1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

import pyarrow as pa

from risingpy.types.system_names import SYSTEM_NAMES
from risingpy.types.wide_numeric import DECIMALS, WHOLE_DIGITS

NO_FIELD = "no_field"  # of ROW(): DuckDB and Arrow between them know no struct without a field


class TypeKind(Enum):
    """The families of types; the value is the name PostgreSQL prints."""

    BOOLEAN = "boolean"
    SMALLINT = "smallint"
    INTEGER = "integer"
    BIGINT = "bigint"
    REAL = "real"
    DOUBLE = "double precision"
    NUMERIC = "numeric"
    VARCHAR = "character varying"
    BYTEA = "bytea"
    DATE = "date"
    TIME = "time without time zone"
    TIMESTAMP = "timestamp without time zone"
    TIMESTAMPTZ = "timestamp with time zone"
    INTERVAL = "interval"
    CHARACTER = "character"
    UUID = "uuid"
    INT256 = "rw_int256"
    JSONB = "jsonb"
    ARRAY = "array"
    STRUCT = "record"
    MAP = "map"
    UNKNOWN = "unknown"  # an untyped literal or NULL before it is coerced; never stored


MAX_PRECISION = 38  # that can be declared
UNDECLARED_SCALE = 16  # of computed numerics that are not wide; leaves 22 digits before the point


@dataclass(frozen=True, slots=True)
class SqlType:
    """A type. `precision` and `scale` are set for NUMERIC only, `length` for varchar(n) and char(n) only.

    `items` are an array's element type, a struct's field types (and `names` their names), a map's key and value types.
    `system` is the name of a type of system catalogs (`system_names`) whose values are those of the rest.
    """

    kind: TypeKind
    precision: int | None = None
    scale: int | None = None
    declared: bool = False
    length: int | None = None
    items: tuple[SqlType, ...] = ()
    names: tuple[str, ...] = ()
    system: str = ""

    def __str__(self) -> str:
        if self.system:
            return SYSTEM_NAMES[self.system].shown
        match self.kind:
            case TypeKind.ARRAY:
                return str(self.element) + "[]"
            case TypeKind.MAP:
                return f"map({self.items[0]},{self.items[1]})"
            case TypeKind.STRUCT:
                return f"struct<{', '.join(f'{n} {t}' for n, t in zip(self.names, self.items, strict=True))}>"
            case TypeKind.CHARACTER if self.length is not None:
                return f"character({self.length})"
        if self.kind is TypeKind.NUMERIC and self.declared:
            return f"numeric({self.precision},{self.scale})"
        if self.kind is TypeKind.VARCHAR and self.length is not None:
            return f"character varying({self.length})"
        return str(self.kind.value)

    @property
    def name(self) -> str:
        """The type without its modifiers, as errors name it."""
        if self.system:
            return SYSTEM_NAMES[self.system].shown
        match self.kind:
            case TypeKind.ARRAY:
                return self.element.name + "[]"
            case TypeKind.MAP:
                return f"map({self.items[0].name},{self.items[1].name})"
        return str(self.kind.value)

    @property
    def element(self) -> SqlType:
        """An array's element type."""
        assert self.kind is TypeKind.ARRAY
        return self.items[0]

    @property
    def leaf(self) -> SqlType:
        """What an array of whatever depth holds in the end; any other type is its own leaf."""
        return self.element.leaf if self.kind is TypeKind.ARRAY else self

    @property
    def depth(self) -> int:
        """An array's number of dimensions; 0 for any other type."""
        return 1 + self.element.depth if self.kind is TypeKind.ARRAY else 0

    @property
    def arrow(self) -> pa.DataType:
        """The Arrow type of a column of this type, in chunks, in stored rows and in results."""
        match self.kind:
            case TypeKind.NUMERIC:
                return pa.binary() if self.is_wide else pa.decimal128(self.precision, self.scale)
            case TypeKind.ARRAY:
                return pa.list_(self.element.arrow)
            case TypeKind.STRUCT:
                fields = [pa.field(n, t.arrow) for n, t in zip(self.names, self.items, strict=True)]
                return pa.struct(fields or [pa.field(NO_FIELD, pa.bool_())])
            case TypeKind.MAP:
                return pa.map_(self.items[0].arrow, self.items[1].arrow)
        return _ARROW[self.kind]

    @property
    def duckdb(self) -> str:
        """The name to CAST to in DuckDB."""
        match self.kind:
            case TypeKind.NUMERIC:
                return "BLOB" if self.is_wide else f"DECIMAL({self.precision},{self.scale})"
            case TypeKind.ARRAY:
                return f"{self.element.duckdb}[]"
            case TypeKind.STRUCT:
                fields = [f"{_quoted(n)} {t.duckdb}" for n, t in zip(self.names, self.items, strict=True)]
                return f"STRUCT({', '.join(fields) or f'{NO_FIELD} BOOLEAN'})"
            case TypeKind.MAP:
                return f"MAP({self.items[0].duckdb}, {self.items[1].duckdb})"
        return _DUCKDB[self.kind]

    @property
    def oid(self) -> int:
        """pg_type.oid. As in PostgreSQL, an array's does not tell its depth."""
        if self.system:
            return SYSTEM_NAMES[self.system].oid
        if self.kind is TypeKind.ARRAY and self.leaf.system:
            return SYSTEM_NAMES[self.leaf.system].array_oid
        return _ARRAY_OID[self.leaf.kind] if self.kind is TypeKind.ARRAY else _OID[self.kind]

    @property
    def typlen(self) -> int:
        """pg_type.typlen: bytes of the binary form, -1 if variable."""
        if self.system:
            return SYSTEM_NAMES[self.system].length
        return _TYPLEN.get(self.kind, -1)

    @property
    def typmod(self) -> int:
        """pg_attribute.atttypmod."""
        if self.kind is TypeKind.NUMERIC and self.declared:
            assert self.precision is not None and self.scale is not None
            return ((self.precision << 16) | self.scale) + 4
        if self.length is not None:
            return self.length + 4
        return -1

    @property
    def is_integer(self) -> bool:
        return self.kind in (TypeKind.SMALLINT, TypeKind.INTEGER, TypeKind.BIGINT)

    @property
    def is_float(self) -> bool:
        return self.kind in (TypeKind.REAL, TypeKind.DOUBLE)

    @property
    def is_numeric(self) -> bool:
        """True for every number type."""
        return self.is_integer or self.is_float or self.kind is TypeKind.NUMERIC

    @property
    def is_wide(self) -> bool:
        """True for a numeric of more digits than decimal128 has: its values are byte strings."""
        return (self.precision or 0) > MAX_PRECISION

    @property
    def is_text(self) -> bool:
        """True for varchar, text and char(n)."""
        return self.kind in (TypeKind.VARCHAR, TypeKind.CHARACTER)

    @property
    def is_nested(self) -> bool:
        """True for what is made of other types."""
        return self.kind in (TypeKind.ARRAY, TypeKind.STRUCT, TypeKind.MAP)

    @property
    def is_orderable(self) -> bool:
        """Whether values can be compared, sorted and grouped, and stand in keys: not if jsonb or a map is inside."""
        if self.kind in (TypeKind.JSONB, TypeKind.MAP):
            return False
        return all(item.is_orderable for item in self.items)


BOOLEAN = SqlType(TypeKind.BOOLEAN)
SMALLINT = SqlType(TypeKind.SMALLINT)
INTEGER = SqlType(TypeKind.INTEGER)
BIGINT = SqlType(TypeKind.BIGINT)
REAL = SqlType(TypeKind.REAL)
DOUBLE = SqlType(TypeKind.DOUBLE)
VARCHAR = SqlType(TypeKind.VARCHAR)
BYTEA = SqlType(TypeKind.BYTEA)
DATE = SqlType(TypeKind.DATE)
TIME = SqlType(TypeKind.TIME)
TIMESTAMP = SqlType(TypeKind.TIMESTAMP)
TIMESTAMPTZ = SqlType(TypeKind.TIMESTAMPTZ)
INTERVAL = SqlType(TypeKind.INTERVAL)
CHARACTER = SqlType(TypeKind.CHARACTER)
UUID = SqlType(TypeKind.UUID)
INT256 = SqlType(TypeKind.INT256)
JSONB = SqlType(TypeKind.JSONB)
UNKNOWN = SqlType(TypeKind.UNKNOWN)
NUMERIC = SqlType(TypeKind.NUMERIC, WHOLE_DIGITS + DECIMALS, DECIMALS)
NARROW_NUMERIC = SqlType(TypeKind.NUMERIC, MAX_PRECISION, UNDECLARED_SCALE)  # of functions that know no wide ones


def numeric(precision: int, scale: int, *, declared: bool = False) -> SqlType:
    """NUMERIC of a physical precision and scale."""
    return SqlType(TypeKind.NUMERIC, precision, scale, declared)


def narrow(type_: SqlType) -> SqlType:
    """The type with numerics of at most 38 digits in the places of wide ones."""
    if type_.is_wide:
        return NARROW_NUMERIC
    return replace(type_, items=tuple(map(narrow, type_.items))) if type_.items else type_


def array_of(element: SqlType) -> SqlType:
    """An array of `element`. An array of arrays has one dimension more."""
    return SqlType(TypeKind.ARRAY, items=(element,))


def struct_of(names: Sequence[str], items: Sequence[SqlType]) -> SqlType:
    """A composite type of named fields."""
    return SqlType(TypeKind.STRUCT, items=tuple(items), names=tuple(names))


def map_of(key: SqlType, value: SqlType) -> SqlType:
    """A map type."""
    return SqlType(TypeKind.MAP, items=(key, value))


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


_ARROW: dict[TypeKind, pa.DataType] = {
    TypeKind.BOOLEAN: pa.bool_(),
    TypeKind.SMALLINT: pa.int16(),
    TypeKind.INTEGER: pa.int32(),
    TypeKind.BIGINT: pa.int64(),
    TypeKind.REAL: pa.float32(),
    TypeKind.DOUBLE: pa.float64(),
    TypeKind.VARCHAR: pa.string(),
    TypeKind.BYTEA: pa.binary(),
    TypeKind.DATE: pa.date32(),
    TypeKind.TIME: pa.time64("us"),
    TypeKind.TIMESTAMP: pa.timestamp("us"),
    TypeKind.TIMESTAMPTZ: pa.timestamp("us", "UTC"),
    TypeKind.INTERVAL: pa.month_day_nano_interval(),
    TypeKind.CHARACTER: pa.string(),  # without the blanks at its end, so that they never count
    TypeKind.UUID: pa.binary(),  # its 16 bytes, which order as uuids do
    TypeKind.INT256: pa.binary(),  # 32 bytes (`int256`), which order as the numbers do
    TypeKind.JSONB: pa.string(),  # the text that PostgreSQL prints
    TypeKind.UNKNOWN: pa.string(),
}

_DUCKDB: dict[TypeKind, str] = {
    TypeKind.BOOLEAN: "BOOLEAN",
    TypeKind.SMALLINT: "SMALLINT",
    TypeKind.INTEGER: "INTEGER",
    TypeKind.BIGINT: "BIGINT",
    TypeKind.REAL: "REAL",
    TypeKind.DOUBLE: "DOUBLE",
    TypeKind.VARCHAR: "VARCHAR",
    TypeKind.BYTEA: "BLOB",
    TypeKind.DATE: "DATE",
    TypeKind.TIME: "TIME",
    TypeKind.TIMESTAMP: "TIMESTAMP",
    TypeKind.TIMESTAMPTZ: "TIMESTAMPTZ",
    TypeKind.INTERVAL: "INTERVAL",
    TypeKind.CHARACTER: "VARCHAR",
    TypeKind.UUID: "BLOB",
    TypeKind.INT256: "BLOB",
    TypeKind.JSONB: "VARCHAR",
    TypeKind.UNKNOWN: "VARCHAR",
}

_OID: dict[TypeKind, int] = {
    TypeKind.BOOLEAN: 16,
    TypeKind.BYTEA: 17,
    TypeKind.BIGINT: 20,
    TypeKind.SMALLINT: 21,
    TypeKind.INTEGER: 23,
    TypeKind.REAL: 700,
    TypeKind.DOUBLE: 701,
    TypeKind.UNKNOWN: 25,  # what reaches a client as unknown is text
    TypeKind.VARCHAR: 1043,
    TypeKind.DATE: 1082,
    TypeKind.TIME: 1083,
    TypeKind.TIMESTAMP: 1114,
    TypeKind.TIMESTAMPTZ: 1184,
    TypeKind.INTERVAL: 1186,
    TypeKind.NUMERIC: 1700,
    TypeKind.CHARACTER: 1042,
    TypeKind.STRUCT: 2249,
    TypeKind.UUID: 2950,
    TypeKind.INT256: 1301,  # RisingWave's
    TypeKind.JSONB: 3802,
    TypeKind.MAP: 1303,  # RisingWave's
}

_ARRAY_OID: dict[TypeKind, int] = {
    TypeKind.BOOLEAN: 1000,
    TypeKind.BYTEA: 1001,
    TypeKind.SMALLINT: 1005,
    TypeKind.INTEGER: 1007,
    TypeKind.UNKNOWN: 1009,
    TypeKind.CHARACTER: 1014,
    TypeKind.VARCHAR: 1015,
    TypeKind.BIGINT: 1016,
    TypeKind.REAL: 1021,
    TypeKind.DOUBLE: 1022,
    TypeKind.TIMESTAMP: 1115,
    TypeKind.DATE: 1182,
    TypeKind.TIME: 1183,
    TypeKind.TIMESTAMPTZ: 1185,
    TypeKind.INTERVAL: 1187,
    TypeKind.NUMERIC: 1231,
    TypeKind.STRUCT: 2287,
    TypeKind.UUID: 2951,
    TypeKind.INT256: 1302,
    TypeKind.JSONB: 3807,
    TypeKind.MAP: 1304,
}

_TYPLEN: dict[TypeKind, int] = {
    TypeKind.BOOLEAN: 1,
    TypeKind.BIGINT: 8,
    TypeKind.SMALLINT: 2,
    TypeKind.INTEGER: 4,
    TypeKind.REAL: 4,
    TypeKind.DOUBLE: 8,
    TypeKind.DATE: 4,
    TypeKind.TIME: 8,
    TypeKind.TIMESTAMP: 8,
    TypeKind.TIMESTAMPTZ: 8,
    TypeKind.INTERVAL: 16,
    TypeKind.UUID: 16,
    TypeKind.INT256: 32,
}
