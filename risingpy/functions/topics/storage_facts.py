"""What the storage would do with a value: the vnode of a key, and how many bytes PostgreSQL's table has for a value."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.errors import SqlError
from risingpy.functions.topics.calling import Function
from risingpy.storage.codec.column_buffers import whole
from risingpy.storage.codec.key_encoding import compute_vnodes
from risingpy.storage.codec.table_schema import VNODE_COUNT

_LONGEST_SHORT = 126  # bytes: a value up to so long has a length of one byte in front, others of four


def _vnode(counts: pa.Array, *key: pa.Array) -> pa.Array:
    """The vnode of a row whose table is spread by `key`."""
    wrong = pc.fill_null(pc.not_equal(counts, VNODE_COUNT), True)
    if pc.any(wrong, min_count=0).as_py():
        given = counts.filter(wrong)[0].as_py()
        shown = "NULL" if given is None else given
        message = f"the number of vnodes must be {VNODE_COUNT}, not {shown}"
        raise SqlError(message, sqlstate="22023")
    return pa.array(compute_vnodes([whole(column) for column in key], len(counts)).astype(np.int16))


def _fixed(bytes_: int) -> Function:
    return Function(lambda column: pa.array(np.full(len(column), bytes_, np.int32)))


def _varying(column: pa.Array) -> pa.Array:
    """Of texts and byte strings as a row of a table has them, uncompressed."""
    sizes = pc.binary_length(column)
    return pc.add(sizes, pc.if_else(pc.less_equal(sizes, _LONGEST_SHORT), 1, 4)).cast(pa.int32())


STORAGE_FACTS: dict[str, Function] = {
    "rw_vnode": Function(_vnode, takes_nulls=True),
    **{f"pg_column_size_{bytes_}": _fixed(bytes_) for bytes_ in (1, 2, 4, 8, 16)},
    "pg_column_size_varying": Function(_varying),
}
