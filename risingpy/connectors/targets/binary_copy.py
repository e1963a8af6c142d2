"""Columns as the rows of PostgreSQL's binary COPY.

file: 'PGCOPY\\n\\377\\r\\n\\0' | int32 flags | int32 extension length | rows | int16 -1
row: int16 columns | per column int32 length (-1: NULL) and the binary form
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from risingpy.types import SqlType, TypeKind
from risingpy.types.field_bytes import as_binary, field_pieces, join_rows
from risingpy.types.forms import binary_column, text_column

HEADER = b"PGCOPY\n\377\r\n\0" + bytes(8)
TRAILER = b"\xff\xff"
SLICE_ROWS = 16_384
AS_TEXT = (TypeKind.INT256, TypeKind.TIMESTAMP_NS)
"""Types that PostgreSQL does not have."""


def copy_rows(columns: Sequence[tuple[SqlType, pa.Array]]) -> pa.Array:
    """The rows as a binary array: `HEADER`, rows of such arrays, and `TRAILER` are a file. At most `SLICE_ROWS` rows.

    A column of `AS_TEXT` is written as text.
    """
    count = len(columns[0][1])
    encoded = [
        text_column(type_, array).cast(pa.binary()) if type_.kind in AS_TEXT else binary_column(type_, array)
        for type_, array in columns
    ]
    valid = [array.is_valid() if array.null_count else None for _, array in columns]
    pieces, _ = field_pieces(encoded, valid, count)
    return join_rows([as_binary(np.full(count, len(columns), ">i2")), *pieces])
