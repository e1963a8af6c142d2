"""Recursion: goes from level to level of WITH RECURSIVE, within an epoch.

The step derives the rows of level n + 1 from those of level n alone. So the changes of a level are final once all
levels below have been gone through, and each level is gone through once, from the lowest with a change upwards: a row
that one change adds and another takes away never reaches the step. That also ends where the rows have a cycle.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from risingpy.errors import StatementTooComplex
from risingpy.executors.change_chunk import columns_of, consolidated, make_chunk, ops_of
from risingpy.executors.few_rows.chunk import Chunk, table_of
from risingpy.executors.recursion.derived_rows import Levelled, LevelRows
from risingpy.executors.recursion.pending_levels import PendingLevels
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
        self._taken = width + 1 if weighted else width
        self._bound = LevelBound(limit, view, (limit + 1) // levels_of_round if weighted else limit)
        self._returns_at_limit = returns_at_limit

    def execute(self, inputs: Sequence[pa.Table]) -> pa.Table:
        start, step = inputs
        pending = PendingLevels()
        pending.add(_levelled(ops_of(start), np.zeros(start.num_rows, np.int64), columns_of(start)[: self._taken]))
        pending.add(self._shown(step))
        outputs = [make_chunk(np.empty(0, np.int8), [pa.array([], type_.arrow) for type_ in self._types])]
        while (level := pending.lowest) is not None:
            look()
            if level > self._bound.limit and self._returns_at_limit:
                break
            self._bound.check(level)
            read, again = self._rows.update(level, _at_level(pending.take(level), self._taken))
            if again is not None:
                pending.add(_levelled(again.ops, again.levels, again.columns))
            if len(read.ops):
                outputs.append(self._output(read))
                pending.add(self._shown(self._step(_levelled(read.ops, read.levels, read.columns))))
        return consolidated(pa.concat_tables(outputs), self._types)

    def _shown(self, step: pa.Table) -> pa.Table:
        """What the step gives without hidden columns: the op, the level, and what counts of a row."""
        return step.select(range(2 + self._taken))

    def _output(self, read: Levelled) -> pa.Table:
        row, number = read.columns[: self._width], read.columns[self._width :]
        return make_chunk(read.ops, [*row, *([pa.array(read.levels), *number] if number else [])])


class LevelsExecutor:
    """One level of a recursion whose step is elsewhere. Inputs: changes of the start, which are those of level 0, and
    what the step gives at `level`, with it as a first column.

    Gives what the step reads more or less, the level first. `hold` is told what is to be looked at again at later
    levels, in the form in which the step gives changes.
    """

    def __init__(
        self,
        *,
        rows: LevelRows,
        width: int,
        level: int,
        bound: LevelBound,
        hold: Callable[[pa.Table], None],
    ) -> None:
        self._rows = rows
        self._width = width
        self._level = level
        self._bound = bound
        self._hold = hold

    def execute(self, inputs: Sequence[pa.Table]) -> pa.Table:
        start, step = inputs
        self._bound.check(self._level)
        changes = _at_level(step, self._width)
        if start.num_rows:  # the step gives nothing at level 0
            changes = make_chunk(ops_of(start), columns_of(start)[: self._width])
        read, again = self._rows.update(self._level, changes)
        if again is not None and len(again.ops):
            self._hold(_levelled(again.ops, again.levels, again.columns))
        return _levelled(read.ops, read.levels, read.columns)


@dataclass(frozen=True, slots=True)
class LevelBound:
    """The last level that the recursion of a view may come to; `steps` is what an error tells of it."""

    limit: int
    view: str
    steps: int

    def check(self, level: int) -> None:
        """Raises StatementTooComplex for a level beyond."""
        if level > self.limit:
            raise StatementTooComplex(
                f'the recursion in "{self.view}" has not ended after {self.steps} steps',
                hint="Have it end earlier, by UNION or a condition, or create the view WITH (recursion_limit = …).",
            )


def _levelled(ops: np.ndarray, levels: np.ndarray, columns: Sequence[pa.Array]) -> pa.Table:
    return make_chunk(ops, [pa.array(levels, pa.int64()), *columns])


def _at_level(changes: Chunk, width: int) -> pa.Table:
    """The first columns of changes of one level, without it."""
    table = table_of(changes)
    return make_chunk(ops_of(table), columns_of(table)[1 : 1 + width])
