"""int8send and its kind: a value's bytes as the wire's binary form has them, most significant first."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from risingpy.functions.topics.calling import Compute, Function
from risingpy.types import (
    BIGINT,
    BOOLEAN,
    BYTEA,
    CIDR,
    DATE,
    DOUBLE,
    INET,
    INTEGER,
    INTERVAL,
    JSONB,
    NUMERIC,
    REAL,
    SMALLINT,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    UUID,
    VARBIT,
    VARCHAR,
    SqlType,
    TypeKind,
    numeric,
)
from risingpy.types.forms import binary_column
from risingpy.types.ranges.elements import RANGE_KINDS
from risingpy.types.ranges.multiranges import MULTIRANGE_KINDS


def _sent(type_: SqlType) -> Compute:
    def computed(column: pa.Array) -> pa.Array:
        encoded = binary_column(type_, column)
        if isinstance(encoded, pa.Array):
            return encoded.cast(pa.binary())
        items = np.ascontiguousarray(encoded)
        fixed = pa.binary(items.itemsize)
        return pa.Array.from_buffers(fixed, len(items), [None, pa.py_buffer(items)]).cast(pa.binary())

    return computed


def _numeric_sent(column: pa.Array) -> pa.Array:
    type_ = NUMERIC if pa.types.is_binary(column.type) else numeric(column.type.precision, column.type.scale)
    return _sent(type_)(column)


BINARY_FORMS: dict[str, Function] = {
    name: Function(_sent(type_))
    for name, type_ in {
        "int2send": SMALLINT,
        "int4send": INTEGER,
        "int8send": BIGINT,
        "float4send": REAL,
        "float8send": DOUBLE,
        "boolsend": BOOLEAN,
        "textsend": VARCHAR,
        "byteasend": BYTEA,
        "uuid_send": UUID,
        "date_send": DATE,
        "time_send": TIME,
        "timestamp_send": TIMESTAMP,
        "timestamptz_send": TIMESTAMPTZ,
        "interval_send": INTERVAL,
        "jsonb_send": JSONB,
        "inet_send": INET,
        "cidr_send": CIDR,
        "macaddr_send": SqlType(TypeKind.MACADDR),
        "bit_send": VARBIT,
        **{f"{kind.value}_send": SqlType(kind) for kind in RANGE_KINDS | MULTIRANGE_KINDS},
    }.items()
}
BINARY_FORMS["numeric_send"] = Function(_numeric_sent)
