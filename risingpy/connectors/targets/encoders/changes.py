"""An epoch's changes taken apart: what was deleted, inserted and updated. All by columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.connectors.targets.target import SinkSchema

Positions = npt.NDArray[np.int64]


def whole(changes: Sequence[pa.Table]) -> pa.Table:
    """The tables of an epoch as one, of one chunk a column. There must be at least one table."""
    return pa.concat_tables(changes).combine_chunks()


def no_changes(schema: SinkSchema) -> pa.Table:
    """An epoch without changes."""
    columns = {f"c{index}": pa.array([], type_.arrow) for index, (_, type_) in enumerate(schema.columns)}
    return pa.table({"op": pa.array([], pa.int8()), **columns})


def column(table: pa.Table, index: int) -> pa.Array:
    """Column `c{index}` as one array."""
    return array_of_chunks(table[f"c{index}"])


def array_of_chunks(chunked: pa.ChunkedArray) -> pa.Array:
    """The chunks as one array, without a copy if there is one already."""
    if chunked.num_chunks == 1:
        return chunked.chunk(0)
    return pa.concat_arrays(chunked.chunks) if chunked.num_chunks else pa.array([], chunked.type)


def ops_of(table: pa.Table) -> npt.NDArray[np.int8]:
    """The ops, +1 or −1."""
    ops: npt.NDArray[np.int8] = array_of_chunks(table["op"]).to_numpy(zero_copy_only=False)
    return ops


def rows_of_op(table: pa.Table, op: int) -> pa.Table:
    """The rows that were inserted (+1) or deleted (−1)."""
    return table.filter(pc.equal(table["op"], pa.scalar(op, pa.int8())))


@dataclass(frozen=True, slots=True)
class Updates:
    """The rows to send, in their order: positions in the table, and for each the position of the row before it.

    A row is an insert (`before` is −1), an update, or a delete: then `after` is −1, and `before` is the deleted row.
    """

    after: Positions
    before: Positions

    @property
    def rows(self) -> Positions:
        """The position that has each row's key."""
        return np.where(self.after >= 0, self.after, self.before)


def pair_updates(ops: npt.NDArray[np.int8], keys: pa.Array) -> Updates:
    """Joins each insert with the delete of the same key, if there is one. Keys: any array that Arrow can compare.

    The changes are consolidated: a key has one delete and one insert at most.
    """
    codes = keys.dictionary_encode().indices.to_numpy(zero_copy_only=False)
    deleted, inserted = np.flatnonzero(ops < 0), np.flatnonzero(ops > 0)
    delete_of_key = np.full(len(keys) + 1, -1, np.int64)
    delete_of_key[codes[deleted]] = deleted
    before = delete_of_key[codes[inserted]]
    only_deleted = np.setdiff1d(deleted, before, assume_unique=False)
    # An update takes the place of its insert; other deletes stay in theirs.
    places = np.concatenate([inserted, only_deleted])
    order = np.argsort(places, kind="stable")
    after = np.concatenate([inserted, np.full(len(only_deleted), -1, np.int64)])[order]
    return Updates(after, np.concatenate([before, only_deleted])[order])
