"""Change chunks: an Arrow table whose first column says what happened to the row that follows.

    op   int8   +1 inserts the row, −1 retracts it; an update is a −1 and a +1
    c0…         the row's columns, in the types of its schema

Within an epoch a delta is consolidated: per stream key at most one −1, exactly the row that was there, and at most one
+1, and no pair that cancels. The order of its rows has no meaning.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.functions.aggregate.grouping import encoded_rows
from risingpy.storage.codec.column_buffers import whole
from risingpy.storage.codec.group_keys import group_rows
from risingpy.storage.codec.plain_columns import is_nested, nested_datums
from risingpy.types import BIGINT, BYTEA, INTEGER, SqlType, TypeKind

INSERT = 1
DELETE = -1
Ops = npt.NDArray[np.int8]
Mask = npt.NDArray[np.bool_]


def column_names(count: int) -> list[str]:
    """The names `c0`, `c1`, … of a chunk with `count` columns."""
    return [f"c{index}" for index in range(count)]


def make_chunk(ops: Ops | pa.Array | pa.ChunkedArray, columns: Sequence[pa.Array | pa.ChunkedArray]) -> pa.Table:
    """A chunk of these rows; `ops` and all columns are of one length."""
    op = pa.array(ops, pa.int8()) if isinstance(ops, np.ndarray) else ops
    return pa.table([op, *columns], names=["op", *column_names(len(columns))])


def empty_chunk(types: Sequence[SqlType]) -> pa.Table:
    """A chunk of no rows."""
    return make_chunk(pa.array([], pa.int8()), [pa.array([], sql_type.arrow) for sql_type in types])


def ops_of(chunk: pa.Table) -> Ops:
    """The `op` column."""
    ops: Ops = whole(chunk.column(0)).to_numpy(zero_copy_only=False)
    return ops


def columns_of(chunk: pa.Table) -> list[pa.Array]:
    """The columns after `op`, each in one piece."""
    return [whole(column) for column in chunk.columns[1:]]


def deletes_first(chunk: pa.Table) -> pa.Table:
    """The chunk with its -1 rows first: a state table applies an update's retraction before its insertion."""
    ops = ops_of(chunk)
    if not len(ops) or (ops[:-1] <= ops[1:]).all():
        return chunk
    return chunk.take(pa.array(np.argsort(ops, kind="stable")))


def consolidated(chunk: pa.Table, types: Sequence[SqlType]) -> pa.Table:
    """The chunk without pairs that cancel: identical rows of which one is inserted and one is retracted."""
    ops = ops_of(chunk)
    if not len(ops) or ops.min() == ops.max():
        return chunk
    exact = [_told_apart(column, type_) for column, type_ in zip(columns_of(chunk), types, strict=True)]
    codes, firsts = group_rows(encoded_rows([c for c, _ in exact], [t for _, t in exact], len(ops)))
    net = np.bincount(codes, weights=ops, minlength=len(firsts)).astype(np.int64)
    if np.abs(net).sum() == len(ops):
        return chunk
    kept = np.repeat(firsts, np.abs(net))
    signs = np.repeat(np.sign(net), np.abs(net)).astype(np.int8)
    return make_chunk(signs, chunk.take(pa.array(kept)).columns[1:])


def _told_apart(column: pa.Array, type_: SqlType) -> tuple[pa.Array, SqlType]:
    """The column in a type whose values are equal only if they print the same.

    SQL calls 0 and -0 equal, and 30 days and a month; a view that has shown the one must retract it to show the other.
    """
    if is_nested(column.type):
        return nested_datums(column), BYTEA
    if type_.kind is TypeKind.INTERVAL:
        return _interval_bytes(column).cast(BYTEA.arrow), BYTEA
    if type_.is_float:
        bits = INTEGER if column.type.bit_width == 32 else BIGINT
        one_nan = pc.if_else(pc.is_nan(column), pa.scalar(math.nan, column.type), column)
        return one_nan.view(bits.arrow), bits
    return column, type_


def distinct_rows(left: Sequence[pa.Array], right: Sequence[pa.Array], rows: int) -> Mask:
    """Which rows differ. NULL equals NULL and NaN equals NaN; 0 and -0 differ."""
    different = np.zeros(rows, np.bool_)
    for a, b in zip(left, right, strict=True):
        if a is not b:
            different |= _distinct(a, b)
    return different


def _distinct(left: pa.Array, right: pa.Array) -> Mask:
    if is_nested(left.type):  # Arrow compares neither nested values nor intervals
        left, right = nested_datums(left), nested_datums(right)
    if pa.types.is_interval(left.type):
        left, right = _interval_bytes(left), _interval_bytes(right)
    both_nan = None
    if pa.types.is_floating(left.type):  # 0 and -0 are equal, but print differently
        both_nan = pc.fill_null(pc.and_(pc.is_nan(left), pc.is_nan(right)), False)
        bits = pa.int32() if left.type.bit_width == 32 else pa.int64()
        left, right = left.view(bits), right.view(bits)
    unequal = pc.not_equal(left, right)
    if unequal.null_count:
        one_is_null = pc.xor(left.is_null(), right.is_null())
        unequal = pc.coalesce(unequal, one_is_null)
    if both_nan is not None:
        unequal = pc.and_not(unequal, both_nan)
    mask: Mask = unequal.to_numpy(zero_copy_only=False).astype(np.bool_)
    return mask


def _interval_bytes(column: pa.Array) -> pa.Array:
    return column.view(pa.binary(16))
