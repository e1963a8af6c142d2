"""SQL types: one immutable value per type, and what each is on the wire, in Arrow and in DuckDB.

A NUMERIC always has a physical precision and scale, because Arrow's decimal128 needs both. `declared` tells
a column that the user wrote as `numeric(p, s)` (fixed scale, shown with its zeros) from a computed or plain
`numeric` (shown without padding zeros, as RisingWave does; PostgreSQL's typmod -1).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import pyarrow as pa


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
    UNKNOWN = "unknown"  # an untyped literal or NULL before it is coerced; never stored


MAX_PRECISION = 38
UNDECLARED_SCALE = 16  # what PostgreSQL shows of an average; leaves 22 digits before the point


@dataclass(frozen=True, slots=True)
class SqlType:
    """A type. `precision` and `scale` are set for NUMERIC only, `length` for varchar(n) only."""

    kind: TypeKind
    precision: int | None = None
    scale: int | None = None
    declared: bool = False
    length: int | None = None

    def __str__(self) -> str:
        if self.kind is TypeKind.NUMERIC and self.declared:
            return f"numeric({self.precision},{self.scale})"
        if self.kind is TypeKind.VARCHAR and self.length is not None:
            return f"character varying({self.length})"
        return self.kind.value

    @property
    def arrow(self) -> pa.DataType:
        """The Arrow type of a column of this type, in chunks, in stored rows and in results."""
        if self.kind is TypeKind.NUMERIC:
            return pa.decimal128(self.precision, self.scale)
        return _ARROW[self.kind]

    @property
    def duckdb(self) -> str:
        """The name to CAST to in DuckDB."""
        if self.kind is TypeKind.NUMERIC:
            return f"DECIMAL({self.precision},{self.scale})"
        return _DUCKDB[self.kind]

    @property
    def oid(self) -> int:
        """pg_type.oid."""
        return _OID[self.kind]

    @property
    def typlen(self) -> int:
        """pg_type.typlen: bytes of the binary form, -1 if variable."""
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
UNKNOWN = SqlType(TypeKind.UNKNOWN)
NUMERIC = SqlType(TypeKind.NUMERIC, MAX_PRECISION, UNDECLARED_SCALE)


def numeric(precision: int, scale: int, *, declared: bool = False) -> SqlType:
    """NUMERIC of a physical precision and scale."""
    return SqlType(TypeKind.NUMERIC, precision, scale, declared)


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
}
