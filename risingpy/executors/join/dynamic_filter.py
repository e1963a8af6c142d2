"""DynamicFilter: the rows on one side of a bound that is itself a row, and may change.

A bound cuts the keys of the table of rows, which begin with the compared column, in two:

    column <  bound    passes below the cut, which lies before the bound       … | bound …
    column <= bound    passes below the cut, which lies behind the bound       … bound | …
    column >  bound    passes above the cut behind the bound
    column >= bound    passes above the cut before the bound

So when the bound changes, the stored rows between the old cut and the new one come or go, and nobody else does. Without
a bound, or of one that is NULL, nothing passes: the cut is at the one end or the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from risingpy.executors.change_chunk import DELETE, INSERT, columns_of, make_chunk, ops_of
from risingpy.storage.codec.key_encoding import prefix_end
from risingpy.storage.codec.table_schema import vnodes_of_shard
from risingpy.storage.engine.state_table import StateTable

Mask = npt.NDArray[np.bool_]

_START, _END = b"", b"\xff"  # before and behind every key


@dataclass(frozen=True, slots=True)
class Comparison:
    """One of < <= > >=, of a column with a bound."""

    operator: str

    @property
    def passes_below(self) -> bool:
        return self.operator in ("<", "<=")

    def cut(self, bound: bytes | None) -> bytes:
        """Where the key `bound` cuts; None if there is none."""
        if bound is None:
            return _START if self.passes_below else _END
        return prefix_end(bound) if self.operator in ("<=", ">") else bound


class DynamicFilterExecutor:
    """`rows` are the left rows by `column`, then by stream key; `bound` has a row in each shard: shard, bound.

    `only_forward`: the bound never falls. A row below the cut then never moves again, and is not kept.
    """

    def __init__(
        self,
        *,
        rows: StateTable,
        bound: StateTable,
        column: int,
        comparison: Comparison,
        only_forward: bool,
        shard: int,
        shards: int,
    ) -> None:
        self._rows = rows
        self._bound = bound
        self._column = column
        self._comparison = comparison
        self._only_forward = only_forward
        self._shard = shard
        self._vnodes = vnodes_of_shard(shard, shards) if rows.schema.distribution else range(1)

    def execute(self, inputs: Sequence[pa.Table]) -> pa.Table:
        changes, bounds = inputs
        before = self._stored_bound()
        after = self._new_bound(bounds) if bounds.num_rows else before
        old, new = self._cut(before), self._cut(after)
        ops, columns = ops_of(changes), columns_of(changes)
        compared = columns[self._column].is_valid().to_numpy(zero_copy_only=False)
        below_old, below_new = self._rows.before(columns[self._column], old, new)
        gone, come = compared & (ops == DELETE), compared & (ops == INSERT)
        self._write(columns, gone & self._is_kept(below_old, before), DELETE)
        moved = self._moved(old, new, forget=self._only_forward and after[0].is_valid)
        self._write(columns, come & self._is_kept(below_new, after), INSERT)
        passed = changes.filter(pa.array((gone & self._passes(below_old)) | (come & self._passes(below_new))))
        return passed if moved is None else pa.concat_tables([passed, moved])

    def _passes(self, below: Mask) -> Mask:
        return below if self._comparison.passes_below else ~below

    def _is_kept(self, below: Mask, bound: pa.Array) -> Mask:
        """Which rows may come or go by a later bound."""
        return ~below if self._only_forward and bound[0].is_valid else np.ones(len(below), np.bool_)

    def _moved(self, old: bytes, new: bytes, *, forget: bool) -> pa.Table | None:
        """The stored rows that come or go because the cut has moved; with `forget` they are deleted."""
        if old == new:
            return None
        found = self._rows.scan_between(self._vnodes, min(old, new), max(old, new))
        if not found.num_rows:
            return None
        columns = [column.combine_chunks() for column in found.columns]
        if forget:
            self._rows.apply_changes(np.full(found.num_rows, DELETE, np.int8), columns)
        op = INSERT if (old < new) == self._comparison.passes_below else DELETE
        return make_chunk(np.full(found.num_rows, op, np.int8), columns)

    def _write(self, columns: Sequence[pa.Array], chosen: Mask, op: int) -> None:
        if chosen.any():
            mask = pa.array(chosen)
            self._rows.apply_changes(np.full(int(chosen.sum()), op, np.int8), [c.filter(mask) for c in columns])

    def _cut(self, bound: pa.Array) -> bytes:
        key = self._rows.leading_key(bound) if bound[0].is_valid else None
        return self._comparison.cut(key)

    def _stored_bound(self) -> pa.Array:
        _, (bound,) = self._bound.get_rows([pa.array([self._shard], pa.int32())])
        return bound

    def _new_bound(self, bounds: pa.Table) -> pa.Array:
        """The bound after the changes, which is stored; one row, NULL if there is none."""
        come = bounds.filter(pa.array(ops_of(bounds) == INSERT))
        (column,) = columns_of(come)
        bound = column.slice(0, 1) if come.num_rows else pa.nulls(1, column.type)
        self._bound.apply(np.array([INSERT], np.int8), [pa.array([self._shard], pa.int32()), bound])
        return bound
