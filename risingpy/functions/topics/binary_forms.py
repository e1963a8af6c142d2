"""int8send and its kind: a value's bytes as the wire's binary form has them, most significant first."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from risingpy.functions.topics.calling import Compute, Function
from risingpy.types import (
    BIGINT,
    BOOLEAN,
    BYTEA,
    DATE,
    DOUBLE,
    INTEGER,
    INTERVAL,
    JSONB,
    REAL,
    SMALLINT,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    UUID,
    VARCHAR,
    SqlType,
)
from risingpy.types.forms import binary_column


def _sent(type_: SqlType) -> Compute:
    def computed(column: pa.Array) -> pa.Array:
        encoded = binary_column(type_, column)
        if isinstance(encoded, pa.Array):
            return encoded.cast(pa.binary())
        items = np.ascontiguousarray(encoded)
        fixed = pa.binary(items.itemsize)
        return pa.Array.from_buffers(fixed, len(items), [None, pa.py_buffer(items)]).cast(pa.binary())

    return computed


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
    }.items()
}
