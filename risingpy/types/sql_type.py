"""SQL types: one immutable value per type, and what each is on the wire, in Arrow and in DuckDB.

A NUMERIC always has a physical precision and scale. Up to 38 digits it is Arrow's decimal128; the one of 90 digits is
wide, a byte string (`wide_numeric`): a plain `numeric`, a quotient, an average. `declared` tells a column that the user
wrote as `numeric(p, s)` from a computed or plain `numeric` (PostgreSQL's typmod -1).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import pyarrow as pa

from risingpy.sql_quoting import double_quoted
from risingpy.types.enums.composite_type import CompositeType
from risingpy.types.enums.enum_type import EnumType
from risingpy.types.families import FAMILIES, MULTIRANGE_OF, TypeKind
from risingpy.types.system_families import SYSTEM_FAMILIES
from risingpy.types.wide_numeric import DECIMALS, WHOLE_DIGITS

NO_FIELD = "no_field"  # of ROW(): DuckDB and Arrow between them know no struct without a field


MAX_PRECISION = 38  # that can be declared
_MULTIRANGES = frozenset(MULTIRANGE_OF.values())
_ALL_FIELDS = 0x7FFF << 16  # of an interval: its typmod says which it has
UNDECLARED_SCALE = 16  # of computed numerics that are not wide; leaves 22 digits before the point


@dataclass(frozen=True, slots=True)
class SqlType:
    """A type. `precision` and `scale` are set for NUMERIC only, `length` for varchar(n), char(n), bit(n),
    bit varying(n) and vector(n), and as the digits of a second's fraction for time(n), timestamp(n), timestamptz(n)
    and interval(n), only.

    `items` are an array's element type, a struct's field types (and `names` their names), a map's key and value types.
    `system` is the name of a type of system catalogs (`system_families`) whose values are those of the rest.
    `enum` is what a type of the kind ENUM is; `composite` is the name of a struct that CREATE TYPE made.
    """

    kind: TypeKind
    precision: int | None = None
    scale: int | None = None
    declared: bool = False
    length: int | None = None
    items: tuple[SqlType, ...] = ()
    names: tuple[str, ...] = ()
    system: str = ""
    enum: EnumType | None = None
    composite: CompositeType | None = None

    def __str__(self) -> str:
        if self.system:
            return SYSTEM_FAMILIES[self.system].shown
        if self.enum is not None:
            return self.enum.shown
        if self.composite is not None:
            return self.composite.shown
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
        if self.length is not None:
            word, *rest = self.kind.value.split(" ", 1) if self.has_clock else (self.kind.value,)
            return " ".join([f"{word}({self.length})", *rest])
        return str(self.kind.value)

    @property
    def name(self) -> str:
        """The type without its modifiers, as errors name it."""
        if self.system:
            return SYSTEM_FAMILIES[self.system].shown
        if self.enum is not None:
            return self.enum.bare
        if self.composite is not None:
            return self.composite.bare
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
        return FAMILIES[self.kind].arrow

    @property
    def duckdb(self) -> str:
        """The name to CAST to in DuckDB."""
        match self.kind:
            case TypeKind.NUMERIC:
                return "BLOB" if self.is_wide else f"DECIMAL({self.precision},{self.scale})"
            case TypeKind.ARRAY:
                return f"{self.element.duckdb}[]"
            case TypeKind.STRUCT:
                fields = [f"{double_quoted(n)} {t.duckdb}" for n, t in zip(self.names, self.items, strict=True)]
                return f"STRUCT({', '.join(fields) or f'{NO_FIELD} BOOLEAN'})"
            case TypeKind.MAP:
                return f"MAP({self.items[0].duckdb}, {self.items[1].duckdb})"
        name = FAMILIES[self.kind].duckdb
        assert name is not None
        return name

    @property
    def oid(self) -> int:
        """pg_type.oid. As in PostgreSQL, an array's does not tell its depth."""
        if self.system:
            return SYSTEM_FAMILIES[self.system].oid
        made = self.enum or self.composite
        if made is not None:
            return made.oid
        if self.kind is TypeKind.ARRAY and self.leaf.system:
            return SYSTEM_FAMILIES[self.leaf.system].array_oid
        made = self.leaf.enum or self.leaf.composite
        if self.kind is TypeKind.ARRAY and made is not None:
            return made.array_oid
        return FAMILIES[self.leaf.kind].array_oid if self.kind is TypeKind.ARRAY else FAMILIES[self.kind].oid

    @property
    def typlen(self) -> int:
        """pg_type.typlen: bytes of the binary form, -1 if variable."""
        if self.system:
            return SYSTEM_FAMILIES[self.system].length
        return FAMILIES[self.kind].length

    @property
    def typmod(self) -> int:
        """pg_attribute.atttypmod."""
        if self.kind is TypeKind.ARRAY:
            return self.leaf.typmod
        if self.kind is TypeKind.NUMERIC and self.declared:
            assert self.precision is not None and self.scale is not None
            return ((self.precision << 16) | self.scale) + 4
        if self.length is not None and self.kind is TypeKind.INTERVAL:
            return _ALL_FIELDS | self.length
        if self.length is not None:
            return self.length + 4 if self.is_text else self.length
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
    def is_fixed_numeric(self) -> bool:
        """True for a numeric(p, s) of decimal128's digits: its values are decimals with s digits after the point."""
        return self.kind is TypeKind.NUMERIC and self.precision is not None and not self.is_wide

    @property
    def is_text(self) -> bool:
        """True for varchar, text and char(n)."""
        return self.kind in (TypeKind.VARCHAR, TypeKind.CHARACTER)

    @property
    def has_clock(self) -> bool:
        """True for time, timestamp, timestamptz and interval, whose length is a precision."""
        return self.kind in (TypeKind.TIME, TypeKind.TIMESTAMP, TypeKind.TIMESTAMPTZ, TypeKind.INTERVAL)

    @property
    def is_bits(self) -> bool:
        """True for bit(n) and bit varying(n)."""
        return self.kind in (TypeKind.BIT, TypeKind.VARBIT)

    @property
    def is_range(self) -> bool:
        """True for the types of one range."""
        return self.kind in MULTIRANGE_OF

    @property
    def is_multirange(self) -> bool:
        """True for the types of several ranges."""
        return self.kind in _MULTIRANGES

    @property
    def is_nested(self) -> bool:
        """True for what is made of other types."""
        return self.kind in (TypeKind.ARRAY, TypeKind.STRUCT, TypeKind.MAP)

    @property
    def is_orderable(self) -> bool:
        """Whether values can be compared, sorted and grouped: not if a map is inside."""
        return self.kind is not TypeKind.MAP and all(item.is_orderable for item in self.items)

    @property
    def is_in_keys(self) -> bool:
        """Whether values can stand in the keys of tables and of state: not if json or a map is inside."""
        if self.kind is TypeKind.MAP or (self.kind is TypeKind.JSONB and self.system):
            return False
        return all(item.is_in_keys for item in self.items)

    @property
    def has_json(self) -> bool:
        """Whether it is jsonb or json, or such is inside: equal values of jsonb may have different texts."""
        return self.kind is TypeKind.JSONB or any(item.has_json for item in self.items)


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
TIMESTAMP_NS = SqlType(TypeKind.TIMESTAMP_NS)
INTERVAL = SqlType(TypeKind.INTERVAL)
CHARACTER = SqlType(TypeKind.CHARACTER)
UUID = SqlType(TypeKind.UUID)
INET = SqlType(TypeKind.INET)
CIDR = SqlType(TypeKind.CIDR)
BIT = SqlType(TypeKind.BIT)
VARBIT = SqlType(TypeKind.VARBIT)
VECTOR = SqlType(TypeKind.VECTOR)
INT256 = SqlType(TypeKind.INT256)
JSONB = SqlType(TypeKind.JSONB)
UNKNOWN = SqlType(TypeKind.UNKNOWN)
NUMERIC = SqlType(TypeKind.NUMERIC, WHOLE_DIGITS + DECIMALS, DECIMALS)
BARE_TYPES: Mapping[TypeKind, SqlType] = MappingProxyType(
    {
        kind: NUMERIC if kind is TypeKind.NUMERIC else SqlType(kind)
        for kind in FAMILIES
        if kind not in (TypeKind.ARRAY, TypeKind.STRUCT, TypeKind.MAP, TypeKind.ENUM, TypeKind.UNKNOWN)
    }
)
"""The type of each kind that a column can have without saying more."""
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


def enum_of(enum: EnumType) -> SqlType:
    """The type of the values of an enum."""
    return SqlType(TypeKind.ENUM, enum=enum)


def map_of(key: SqlType, value: SqlType) -> SqlType:
    """A map type."""
    return SqlType(TypeKind.MAP, items=(key, value))
