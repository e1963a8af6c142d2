"""Recursion: goes from level to level of WITH RECURSIVE, within an epoch.

The step derives the rows of level n + 1 from those of level n alone. So the changes of a level are final once all
levels below have been gone through, and each level is gone through once, from the lowest with a change upwards: a row
that one change adds and another takes away never reaches the step. That also ends where the rows have a cycle.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa

from risingpy.errors import StatementTooComplex
from risingpy.executors.change_chunk import columns_of, consolidated, make_chunk, ops_of
from risingpy.executors.recursion.derived_rows import Levelled, LevelRows
from risingpy.statement_limits import look
from risingpy.types import SqlType


class RecursionExecutor:
    """Inputs: the changes of the start, and those of the step by what else it reads.

    `step` gives the changes of the step's output by changes of the rows that it reads; `width` is a row's number of
    columns, and `types` are the output's. A `weighted` row has its weight as a further column.
    A level beyond `limit` is left out if it `returns_at_limit`; else it raises StatementTooComplex, which tells of
    rounds of `levels_of_round` levels.
    """

    def __init__(
        self,
        *,
        rows: LevelRows,
        step: Callable[[pa.Table], pa.Table],
        width: int,
        types: Sequence[SqlType],
        limit: int,
        view: str,
        weighted: bool = False,
        levels_of_round: int = 1,
        returns_at_limit: bool = False,
    ) -> None:
        self._rows = rows
        self._step = step
        self._width = width
        self._types = types
        self._limit = limit
        self._view = view
        self._taken = width + 1 if weighted else width
        self._steps = (limit + 1) // levels_of_round if weighted else limit
        self._returns_at_limit = returns_at_limit

    def execute(self, inputs: Sequence[pa.Table]) -> pa.Table:
        start, step = inputs
        pending = _PendingLevels()
        pending.add(ops_of(start), np.zeros(start.num_rows, np.int64), columns_of(start)[: self._taken])
        self._note(pending, step)
        outputs = [make_chunk(np.empty(0, np.int8), [pa.array([], type_.arrow) for type_ in self._types])]
        while pending.by_level:
            look()
            level, changes = pending.lowest()
            if level > self._limit and self._returns_at_limit:
                break
            if level > self._limit:
                raise StatementTooComplex(
                    f'the recursion in "{self._view}" has not ended after {self._steps} steps',
                    hint="Have it end earlier, by UNION or a condition, or create the view WITH (recursion_limit = …).",
                )
            read, again = self._rows.update(level, changes)
            if again is not None:
                pending.add(again.ops, again.levels, again.columns)
            if len(read.ops):
                outputs.append(self._output(read))
                self._note(pending, self._step(make_chunk(read.ops, [pa.array(read.levels), *read.columns])))
        return consolidated(pa.concat_tables(outputs), self._types)

    def _note(self, pending: _PendingLevels, step: pa.Table) -> None:
        """Adds what the step gives, whose first column is the level."""
        level, *columns = columns_of(step)
        pending.add(ops_of(step), np.asarray(level.to_numpy(), np.int64), columns[: self._taken])

    def _output(self, read: Levelled) -> pa.Table:
        row, number = read.columns[: self._width], read.columns[self._width :]
        return make_chunk(read.ops, [*row, *([pa.array(read.levels), *number] if number else [])])


class _PendingLevels:
    """Changes that no level has been gone through with, by level."""

    def __init__(self) -> None:
        self.by_level: defaultdict[int, list[pa.Table]] = defaultdict(list)

    def add(self, ops: np.ndarray, levels: np.ndarray, columns: Sequence[pa.Array]) -> None:
        if not len(ops):
            return
        chunk = make_chunk(ops, columns)
        if levels[0] == levels[-1] and (levels == levels[0]).all():
            self.by_level[int(levels[0])].append(chunk)
            return
        order = np.argsort(levels, kind="stable")
        chunk, levels = chunk.take(pa.array(order)), levels[order]
        bounds = [0, *(np.flatnonzero(np.diff(levels)) + 1).tolist(), len(levels)]
        for begin, end in pairwise(bounds):
            self.by_level[int(levels[begin])].append(chunk.slice(begin, end - begin))

    def lowest(self) -> tuple[int, pa.Table]:
        """The lowest level, and its changes, which are taken away."""
        level = min(self.by_level)
        return level, pa.concat_tables(self.by_level.pop(level)).combine_chunks()
