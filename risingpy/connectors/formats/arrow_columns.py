"""What a column of Arrow, in a Parquet file or from a program, is in SQL.

int8, int16, uint8                    smallint
int32, uint16                         integer
int64, uint32                         bigint
uint64, decimal256                    numeric
decimal of at most 38 digits          numeric(p, s)
float16, float; double                real; double precision
date; time; timestamp                 date; time; timestamp, of microseconds: what is finer is cut off, unless the
                                      column is a timestamp_ns
timestamp with a time zone, or UTC    timestamptz
string; binary, of any length         varchar; bytea
a dictionary                          what it holds
list, struct, map                     array, struct, map
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from risingpy.connectors.formats.conversion import list_offsets
from risingpy.errors import FeatureNotSupported
from risingpy.types import (
    BIGINT,
    BOOLEAN,
    BYTEA,
    DATE,
    DOUBLE,
    INTEGER,
    NUMERIC,
    REAL,
    SMALLINT,
    TIME,
    TIMESTAMP,
    TIMESTAMP_NS,
    TIMESTAMPTZ,
    VARCHAR,
    SqlType,
    TypeKind,
    array_of,
    map_of,
    numeric,
    struct_of,
)
from risingpy.types.clocks.nano_moments import FIRST_NANOS, LAST_NANOS, NANOS, holds_nanos
from risingpy.types.forms import parse_column

_SCALARS = {
    pa.bool_(): BOOLEAN,
    pa.int8(): SMALLINT,
    pa.int16(): SMALLINT,
    pa.int32(): INTEGER,
    pa.int64(): BIGINT,
    pa.uint8(): SMALLINT,
    pa.uint16(): INTEGER,
    pa.uint32(): BIGINT,
    pa.uint64(): NUMERIC,
    pa.float16(): REAL,
    pa.float32(): REAL,
    pa.float64(): DOUBLE,
    pa.date32(): DATE,
    pa.date64(): DATE,
    pa.string(): VARCHAR,
    pa.large_string(): VARCHAR,
    pa.string_view(): VARCHAR,
    pa.binary(): BYTEA,
    pa.large_binary(): BYTEA,
    pa.binary_view(): BYTEA,
    pa.null(): VARCHAR,
}
_MOST_DIGITS = 38


def sql_type(name: str, found: pa.DataType, *, nanos: bool = False) -> SqlType:
    """The SQL type of a column. Raises FeatureNotSupported for a type that SQL does not have here.

    With `nanos`, timestamps of nanoseconds are timestamp_ns: those of a time zone as UTC shows them.
    """
    known = _SCALARS.get(found)
    if known is not None:
        return known
    types = pa.types
    if types.is_decimal(found):
        is_plain = found.precision <= _MOST_DIGITS and 0 <= found.scale <= found.precision
        return numeric(found.precision, found.scale) if is_plain else NUMERIC
    if types.is_timestamp(found):
        if nanos and found.unit == "ns":
            return TIMESTAMP_NS
        return TIMESTAMP if found.tz is None else TIMESTAMPTZ
    if types.is_time(found):
        return TIME
    if types.is_fixed_size_binary(found):
        return BYTEA
    if types.is_dictionary(found):
        return sql_type(name, found.value_type, nanos=nanos)
    if types.is_list(found) or types.is_large_list(found) or types.is_fixed_size_list(found):
        return array_of(sql_type(name, found.value_type, nanos=nanos))
    if types.is_map(found):
        return map_of(sql_type(name, found.key_type), sql_type(name, found.item_type, nanos=nanos))
    if types.is_struct(found):
        fields = [sql_type(f"{name}.{f.name}", f.type, nanos=nanos) for f in found]
        return struct_of([f.name for f in found], fields)
    raise FeatureNotSupported(f'column "{name}" has the type {found}, which is not supported')


def plain_column(found: pa.Array, type_: SqlType) -> pa.Array:
    """A column as the Arrow type of `type_`, which is what `sql_type` says of it. Raises ArrowInvalid."""
    if found.type == type_.arrow and not holds_nanos(found.type):
        return found
    if pa.types.is_dictionary(found.type):
        return plain_column(found.dictionary_decode(), type_)
    match type_.kind:
        case TypeKind.NUMERIC if type_.is_wide:
            return parse_column(type_, found.cast(pa.string()))
        case TypeKind.ARRAY:
            lists = found.cast(pa.list_(found.type.value_type))
            items = plain_column(lists.flatten(), type_.element)
            return pa.ListArray.from_arrays(list_offsets(lists), items, mask=lists.is_null()).cast(type_.arrow)
        case TypeKind.STRUCT:
            fields = [plain_column(pc.struct_field(found, [k]), item) for k, item in enumerate(type_.items)]
            return pa.StructArray.from_arrays(fields, fields=list(type_.arrow), mask=found.is_null())
        case TypeKind.MAP:
            return _plain_map(found, type_)
        case TypeKind.TIMESTAMP | TypeKind.TIMESTAMPTZ | TypeKind.TIME:
            return found.cast(type_.arrow, safe=False)
        case TypeKind.TIMESTAMP_NS:
            return _within_nanos(found.cast(NANOS))
        case TypeKind.BYTEA:
            return found.cast(pa.binary())
    return found.cast(type_.arrow)


def _within_nanos(moments: pa.Array) -> pa.Array:
    """The moments themselves. Raises ArrowInvalid for the three numbers that are none of timestamp_ns."""
    ends = pc.min_max(moments.cast(pa.int64()))
    if ends["min"].is_valid and not (ends["min"].as_py() >= FIRST_NANOS and ends["max"].as_py() <= LAST_NANOS):
        raise pa.ArrowInvalid("timestamp_ns out of range")
    return moments


def _plain_map(found: pa.Array, type_: SqlType) -> pa.Array:
    entry = pa.struct([("key", found.type.key_type), ("value", found.type.item_type)])
    lists = found.cast(pa.list_(entry))
    entries = lists.flatten()
    keys, items = (plain_column(pc.struct_field(entries, [k]), item) for k, item in enumerate(type_.items))
    offsets = list_offsets(lists)
    if lists.null_count:  # a NULL among the offsets is a NULL map
        is_null = pa.concat_arrays([lists.is_null(), pa.array([False])])
        offsets = pc.if_else(is_null, pa.scalar(None, pa.int32()), offsets)
    return pa.MapArray.from_arrays(offsets, keys, items).cast(type_.arrow)
