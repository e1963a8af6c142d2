"""DynamicFilter: keeps the rows whose column compares with a bound that changes over time.

The stored rows are sorted by the compared column. A bound cuts them in two:

    column <  bound    rows below the cut pass; the cut is before the bound      … | bound …
    column <= bound    rows below the cut pass; the cut is after the bound       … bound | …
    column >  bound    rows above the cut pass; the cut is after the bound
    column >= bound    rows above the cut pass; the cut is before the bound

When the bound moves, only the stored rows between the old cut and the new one change sides, so only they are read.
While the bound is missing or NULL, no row passes: the cut is then at the end of the keys that lets none through.
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

_START, _END = b"", b"\xff"  # before every key, and after every key


@dataclass(frozen=True, slots=True)
class BoundComparison:
    """Compares a column with a bound by `operator`: <, <=, > or >=."""

    operator: str

    @property
    def passes_below(self) -> bool:
        return self.operator in ("<", "<=")

    def cut(self, bound: bytes | None) -> bytes:
        """The key at which `bound` cuts. `bound` is None where there is no bound; the cut then lets no row pass."""
        if bound is None:
            return _START if self.passes_below else _END
        return prefix_end(bound) if self.operator in ("<=", ">") else bound


class DynamicFilterExecutor:
    """`rows` keeps the left rows by `column`, then by stream key. `bound` keeps a row per shard: (shard, bound).

    `only_forward`: the bound never falls. A row below the cut then never changes sides again, so it is not stored.
    This is how a temporal filter (`ts > now() - interval '1 hour'`) keeps its state small.
    """

    def __init__(
        self,
        *,
        rows: StateTable,
        bound: StateTable,
        column: int,
        comparison: BoundComparison,
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

    def wait(self, changes: pa.Table) -> pa.Table:
        """The output, if the bound stays and all rows are beyond it: they are kept, and pass if those above it do."""
        ops, columns = ops_of(changes), columns_of(changes)
        compared = columns[self._column].is_valid().to_numpy(zero_copy_only=False)
        for op in (DELETE, INSERT):
            self._write(columns, compared & (ops == op), op)
        return changes.slice(0, 0) if self._comparison.passes_below else changes.filter(pa.array(compared))

    def first_beyond(self, bound: pa.Array) -> pa.Array | None:
        """The least value that is stored beyond the bound, as an array of length 1; None if none is."""
        return self._rows.first_value(self._vnodes, self._cut(bound))

    def execute(self, inputs: Sequence[pa.Table]) -> pa.Table:
        changes, bounds = inputs
        before = self._stored_bound()
        after = self._new_bound(bounds) if bounds.num_rows else before
        old, new = self._cut(before), self._cut(after)
        ops, columns = ops_of(changes), columns_of(changes)
        compared = columns[self._column].is_valid().to_numpy(zero_copy_only=False)
        below_old, below_new = self._rows.before(columns[self._column], old, new)
        # Deleted rows leave the table before the cut moves, and inserted rows enter it after: the scan between the cuts
        # then gives only rows that stay. A deleted row was seen at the old cut, an inserted one is seen at the new cut.
        gone, come = compared & (ops == DELETE), compared & (ops == INSERT)
        self._write(columns, gone & self._is_kept(below_old, before), DELETE)
        moved = self._moved(old, new, forget=self._only_forward and after[0].is_valid)
        self._write(columns, come & self._is_kept(below_new, after), INSERT)
        passed = changes.filter(pa.array((gone & self._passes(below_old)) | (come & self._passes(below_new))))
        return passed if moved is None else pa.concat_tables([passed, moved])

    def _passes(self, below: Mask) -> Mask:
        return below if self._comparison.passes_below else ~below

    def _is_kept(self, below: Mask, bound: pa.Array) -> Mask:
        """Which rows a later bound may still move across the cut."""
        return ~below if self._only_forward and bound[0].is_valid else np.ones(len(below), np.bool_)

    def _moved(self, old: bytes, new: bytes, *, forget: bool) -> pa.Table | None:
        """The changes of the stored rows that the cut has passed; with `forget` the table drops those rows."""
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
        """Stores and returns the bound after the changes: an array of length 1, NULL if there is no bound."""
        come = bounds.filter(pa.array(ops_of(bounds) == INSERT))
        (column,) = columns_of(come)
        bound = column.slice(0, 1) if come.num_rows else pa.nulls(1, column.type)
        self._bound.apply(np.array([INSERT], np.int8), [pa.array([self._shard], pa.int32()), bound])
        return bound
