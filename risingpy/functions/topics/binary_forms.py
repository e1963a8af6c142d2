"""int8send and its kind: a value's bytes as the wire's binary form has them, most significant first."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.errors import SqlError
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


def _int8_received(column: pa.Array) -> pa.Array:
    """The numbers of RisingWave's int8recv. Raises SqlError (22P03) for other than 8 bytes."""
    lengths = pc.binary_length(column)
    wrong = lengths.filter(pc.not_equal(lengths, 8))
    if len(wrong):
        raise SqlError(f"incorrect binary data format: 8 bytes expected, not {wrong[0].as_py()}", sqlstate="22P03")
    items = np.frombuffer(b"".join(column.to_pylist()), ">i8")
    return pa.array(items.astype(np.int64))


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
BINARY_FORMS["int8recv"] = Function(_int8_received)
BINARY_FORMS["numeric_send"] = Function(_numeric_sent)
