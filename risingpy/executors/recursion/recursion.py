"""Recursion: goes from level to level of WITH RECURSIVE, within an epoch.

The step derives the rows of level n + 1 from those of level n alone. So the changes of a level are final once all
levels below have been gone through, and each level is gone through once, from the lowest with a change upwards: a row
that one change adds and another takes away never reaches the step. That also ends where the rows have a cycle.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
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
        self._taken = width + 1 if weighted else width
        self._bound = LevelBound(limit, view, (limit + 1) // levels_of_round if weighted else limit)
        self._returns_at_limit = returns_at_limit

    def execute(self, inputs: Sequence[pa.Table]) -> pa.Table:
        start, step = inputs
        pending = _PendingLevels()
        pending.add(ops_of(start), np.zeros(start.num_rows, np.int64), columns_of(start)[: self._taken])
        pending.add_levelled(step, self._taken)
        outputs = [make_chunk(np.empty(0, np.int8), [pa.array([], type_.arrow) for type_ in self._types])]
        while pending.by_level:
            look()
            level, changes = pending.lowest()
            if level > self._bound.limit and self._returns_at_limit:
                break
            self._bound.check(level)
            read, again = self._rows.update(level, changes)
            if again is not None:
                pending.add(again.ops, again.levels, again.columns)
            if len(read.ops):
                outputs.append(self._output(read))
                derived = self._step(make_chunk(read.ops, [pa.array(read.levels), *read.columns]))
                pending.add_levelled(derived, self._taken)
        return consolidated(pa.concat_tables(outputs), self._types)

    def _output(self, read: Levelled) -> pa.Table:
        row, number = read.columns[: self._width], read.columns[self._width :]
        return make_chunk(read.ops, [*row, *([pa.array(read.levels), *number] if number else [])])


class LevelsExecutor:
    """One level of a recursion whose step is elsewhere. Inputs: changes of the start, and the step's, with their level.

    Gives what the step reads more or less, the level first. `hold` is told the changes of later levels, as the step
    gives them. `level` is that whose turn it is; no change on any shard has a lower one.
    """

    def __init__(
        self,
        *,
        rows: LevelRows,
        width: int,
        types: Sequence[SqlType],
        level: int,
        bound: LevelBound,
        hold: Callable[[pa.Table], None],
    ) -> None:
        self._rows = rows
        self._width = width
        self._types = types
        self._level = level
        self._bound = bound
        self._hold = hold

    def execute(self, inputs: Sequence[pa.Table]) -> pa.Table:
        start, step = inputs
        pending = _PendingLevels()
        pending.add(ops_of(start), np.zeros(start.num_rows, np.int64), columns_of(start)[: self._width])
        pending.add_levelled(step, self._width)
        outputs = [make_chunk(np.empty(0, np.int8), [pa.array([], type_.arrow) for type_ in self._types])]
        if self._level in pending.by_level:
            self._bound.check(self._level)
            level, changes = pending.lowest()
            read, again = self._rows.update(level, changes)
            if again is not None:
                pending.add(again.ops, again.levels, again.columns)
            outputs.append(make_chunk(read.ops, [pa.array(read.levels), *read.columns]))
        if pending.by_level:
            self._hold(pending.whole())
        return pa.concat_tables(outputs)


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

    def add_levelled(self, changes: pa.Table, width: int) -> None:
        """Adds what the step gives, whose first column is the level; `width` columns follow that count."""
        level, *columns = columns_of(changes)
        self.add(ops_of(changes), np.asarray(level.to_numpy(), np.int64), columns[:width])

    def whole(self) -> pa.Table:
        """All of them, with their level as a first column."""
        parts = [
            make_chunk(ops_of(chunk), [pa.array(np.full(chunk.num_rows, level, np.int64)), *columns_of(chunk)])
            for level, chunks in self.by_level.items()
            for chunk in chunks
        ]
        return pa.concat_tables(parts)

    def lowest(self) -> tuple[int, pa.Table]:
        """The lowest level, and its changes, which are taken away."""
        level = min(self.by_level)
        return level, pa.concat_tables(self.by_level.pop(level)).combine_chunks()
