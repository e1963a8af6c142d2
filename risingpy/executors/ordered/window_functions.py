"""Computes window functions over sorted partitions. NumPy numbers and shifts rows; DuckDB computes the other functions.

DuckDB gets the rows numbered, and frames in ROWS over that order wherever peers alone decide the frame. It would break
ties of the ORDER BY as it likes, and a result that is different in the next epoch could not be retracted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from risingpy.errors import SqlError
from risingpy.executors.ordered.session_ends import session_ends
from risingpy.functions.evaluation.chunk_query import run
from risingpy.functions.evaluation.duckdb_connection import translate_error
from risingpy.functions.evaluation.window_sql import window_sql
from risingpy.plan.expressions import InputRef, Literal
from risingpy.plan.window_calls import FRAMELESS, BoundKind, Frame, FrameBound, FrameExclusion, FrameUnits, WindowCall
from risingpy.storage.codec.column_buffers import whole
from risingpy.types import BIGINT, SqlType

_FARTHEST = 10_000  # functions that look farther read the whole partition: few partitions are larger
Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
OrderColumn = tuple[int, str, SqlType]  # position, direction as SQL, type


@dataclass(frozen=True, slots=True)
class Partitions:
    """Sorted rows, partition by partition. `begins` and `peers_begin` mark the first rows of partitions and peers."""

    columns: Sequence[pa.Array]
    begins: Mask
    peers_begin: Mask
    left_out: Integers  # for each partition, how many of its rows come before the first one here
    groups_left_out: Integers  # likewise, how many groups of peers

    @property
    def rows(self) -> int:
        return len(self.begins)

    def of_each_row(self, of_partitions: Integers) -> Integers:
        """For each row, the value of its partition."""
        values: Integers = of_partitions[np.cumsum(self.begins) - 1]
        return values

    def starts(self, marks: Mask) -> Integers:
        """For each row, the position of the first row of its run; `marks` are the first rows of runs."""
        starts = np.flatnonzero(marks)
        return np.repeat(starts, np.diff(np.append(starts, self.rows)))

    def ends(self, marks: Mask) -> Integers:
        """For each row, the position after the last row of its run."""
        starts = np.flatnonzero(marks)
        ends = np.append(starts[1:], self.rows)
        return np.repeat(ends, ends - starts)


@dataclass(frozen=True, slots=True)
class Reach:
    """A row's results depend on the row, `back` rows before it, `ahead` after it, and on its number if `numbers`."""

    back: int
    ahead: int
    numbers: bool

    @property
    def before(self) -> int:
        """How many rows before a change must be read; at least one, whose stored number counts on from there."""
        return max(self.back + self.ahead, 1)

    @property
    def behind(self) -> int | None:
        """How many rows after a change must be read. None: all, because a row more or less moves all later numbers."""
        return None if self.numbers else self.back + self.ahead


class WindowFunctions:
    """The calls over one window. `order_by` are the columns that order a partition."""

    def __init__(self, calls: Sequence[WindowCall], order_by: Sequence[OrderColumn], width: int) -> None:
        self._calls = calls
        self.reach = _reach(calls)
        self.number = next((i for i, call in enumerate(calls) if call.function == "row_number"), None)
        self._by_arrays = [_by_arrays(call) for call in calls]
        self._sql = {
            i: _positional_sql(call, order_by, width) for i, call in enumerate(calls) if self._by_arrays[i] is None
        }

    def results(self, partitions: Partitions) -> tuple[list[pa.Array], int]:
        """A column for each call, and how many values in them are NULL because the call failed."""
        if not partitions.rows:
            return [pa.array([], call.type.arrow) for call in self._calls], 0
        found: dict[int, pa.Array] = {}
        errors = 0
        for i, compute in enumerate(self._by_arrays):
            if compute is not None:
                found[i] = compute(partitions).cast(self._calls[i].type.arrow)
        if self._sql:
            computed, errors = self._by_duckdb(partitions)
            found.update(computed)
        return [found[i] for i in range(len(self._calls))], errors

    def _by_duckdb(self, partitions: Partitions) -> tuple[dict[int, pa.Array], int]:
        rows = _with_positions(partitions)
        try:
            return dict(zip(self._sql, self._query(list(self._sql), rows), strict=True)), 0
        except (duckdb.Error, SqlError):
            pass  # one call fails: a query for each call finds out which one
        computed: dict[int, pa.Array] = {}
        errors = 0
        for i in self._sql:
            try:
                (computed[i],) = self._query([i], rows)
            except duckdb.Error as error:
                if not isinstance(error, duckdb.DataError | duckdb.OperationalError):
                    raise translate_error(error) from error
                computed[i] = pa.nulls(partitions.rows, self._calls[i].type.arrow)
                errors += partitions.rows
        return computed, errors

    def _query(self, calls: Sequence[int], rows: pa.Table) -> list[pa.Array]:
        listed = ", ".join(f"{self._sql[i]} AS r{i}" for i in calls)
        index, *answers = run(f"SELECT t.i, {listed} FROM chunk AS t", rows)
        place = np.empty(len(index), np.int64)
        place[whole(index).to_numpy()] = np.arange(len(index))
        chosen = pa.array(place)
        return [
            whole(column).cast(self._calls[i].type.arrow).take(chosen) for i, column in zip(calls, answers, strict=True)
        ]


def _with_positions(partitions: Partitions) -> pa.Table:
    """The columns c0, c1, …; p, the partition; i, the row; a and b, the numbers of its peers before and after it."""
    index = np.arange(partitions.rows)
    peers = partitions.begins | partitions.peers_begin
    before, behind = index - partitions.starts(peers), partitions.ends(peers) - 1 - index
    arrays = [*partitions.columns, *(pa.array(a) for a in (np.cumsum(partitions.begins), index, before, behind))]
    return pa.table(arrays, names=[*(f"c{k}" for k in range(len(partitions.columns))), "p", "i", "a", "b"])


def _positional_sql(call: WindowCall, order_by: Sequence[OrderColumn], width: int) -> str:
    """The call over the table of `_with_positions`."""
    names = ["a", "b"]

    def column(index: int) -> str:
        return f"t.c{index}" if index < width else f"t.{names[index - width]}"

    frame = call.frame if call.function in FRAMELESS else _by_position(call.frame, width, width + 1)
    if frame is None:
        return window_sql(call, column, ["t.p"], [(column(k), way, type_) for k, way, type_ in order_by])
    return window_sql(replace(call, frame=frame), column, ["t.p"], [("t.i", "ASC", BIGINT)])


def _by_position(frame: Frame, before: int, behind: int) -> Frame | None:
    """The frame in ROWS; None if it depends on values or groups. The columns `before` and `behind` count peers."""
    if frame.exclusion in (FrameExclusion.GROUP, FrameExclusion.TIES):
        return None
    if frame.units is FrameUnits.ROWS:
        return frame
    if frame.start.offset is not None or frame.end.offset is not None:
        return None
    start, end = frame.start, frame.end
    if start.kind is BoundKind.CURRENT_ROW:
        start = FrameBound(BoundKind.PRECEDING, InputRef(before, BIGINT))
    if end.kind is BoundKind.CURRENT_ROW:
        end = FrameBound(BoundKind.FOLLOWING, InputRef(behind, BIGINT))
    return Frame(FrameUnits.ROWS, start, end, frame.exclusion)


def _reach(calls: Sequence[WindowCall]) -> Reach | None:
    """How far all calls together look; None if one may look at the whole partition."""
    reaches = [_reach_of(call) for call in calls]
    known = [reach for reach in reaches if reach is not None]
    if len(known) < len(reaches):
        return None
    together = Reach(
        max(reach.back for reach in known), max(reach.ahead for reach in known), any(reach.numbers for reach in known)
    )
    return together if together.before <= _FARTHEST else None


def _reach_of(call: WindowCall) -> Reach | None:
    match call:
        case WindowCall("row_number"):
            return Reach(0, 0, numbers=True)
        case WindowCall("lag" | "lead", args, ignore_nulls=False):
            rows = args[1] if len(args) > 1 else Literal(1, BIGINT)
            if not isinstance(rows, Literal) or not isinstance(rows.value, int):
                return None
            distance = rows.value if call.function == "lag" else -rows.value
            return Reach(max(distance, 0), max(-distance, 0), numbers=False)
        case WindowCall(function, frame=Frame(FrameUnits.ROWS) as frame) if function not in FRAMELESS:
            start, end = _distance(frame.start), _distance(frame.end)
            if start is None or end is None or frame.exclusion in (FrameExclusion.GROUP, FrameExclusion.TIES):
                return None
            return Reach(max(-start, 0), max(end, 0), numbers=False)
    return None


def _distance(bound: FrameBound) -> int | None:
    """How many rows after the current one a bound of a frame in ROWS is; negative if before, None if unbounded."""
    match bound:
        case FrameBound(BoundKind.CURRENT_ROW):
            return 0
        case FrameBound(BoundKind.PRECEDING, Literal(int(rows))):
            return -rows
        case FrameBound(BoundKind.FOLLOWING, Literal(int(rows))):
            return rows
    return None


# -- functions that number and shift rows --------------------------------------------------------------------------

Compute = Callable[[Partitions], pa.Array]


def _by_arrays(call: WindowCall) -> Compute | None:
    if call.function in _NUMBERING:
        return _NUMBERING[call.function]
    match call:
        case WindowCall("session_end", (InputRef(time), InputRef(limit), _)):
            return lambda rows: session_ends(rows.columns[time], rows.columns[limit], rows.begins)
        case WindowCall("lag" | "lead", (InputRef(column),), ignore_nulls=False):
            return _shift(call, column, 1, None)
        case WindowCall("lag" | "lead", (InputRef(column), Literal(int(rows))), ignore_nulls=False):
            return _shift(call, column, rows, None)
        case WindowCall("lag" | "lead", (InputRef(column), Literal(int(rows)), Literal() as other), ignore_nulls=False):
            return _shift(call, column, rows, other)
    return None


def _row_number(partitions: Partitions) -> pa.Array:
    left_out = partitions.of_each_row(partitions.left_out)
    return pa.array(np.arange(1, partitions.rows + 1) - partitions.starts(partitions.begins) + left_out)


def _rank(partitions: Partitions) -> pa.Array:
    peers = partitions.starts(partitions.begins | partitions.peers_begin)
    left_out = partitions.of_each_row(partitions.left_out)
    return pa.array(peers + 1 - partitions.starts(partitions.begins) + left_out)


def _dense_rank(partitions: Partitions) -> pa.Array:
    groups = np.cumsum(partitions.begins | partitions.peers_begin)
    left_out = partitions.of_each_row(partitions.groups_left_out)
    return pa.array(groups + 1 - groups[partitions.starts(partitions.begins)] + left_out)


def _percent_rank(partitions: Partitions) -> pa.Array:
    starts, ends = partitions.starts(partitions.begins), partitions.ends(partitions.begins)
    ranks = partitions.starts(partitions.begins | partitions.peers_begin) - starts
    return pa.array(ranks / np.maximum(ends - starts - 1, 1))


def _cume_dist(partitions: Partitions) -> pa.Array:
    starts, ends = partitions.starts(partitions.begins), partitions.ends(partitions.begins)
    return pa.array((partitions.ends(partitions.begins | partitions.peers_begin) - starts) / (ends - starts))


_NUMBERING: dict[str, Compute] = {
    "row_number": _row_number,
    "rank": _rank,
    "dense_rank": _dense_rank,
    "percent_rank": _percent_rank,
    "cume_dist": _cume_dist,
}


def _shift(call: WindowCall, column: int, rows: int, other: Literal | None) -> Compute:
    """lag or lead by a constant number of rows; `other` is the value where there is no such row."""
    distance = -rows if call.function == "lag" else rows
    absent = None if other is None else other.value

    def compute(partitions: Partitions) -> pa.Array:
        source = np.arange(partitions.rows) + np.clip(distance, -partitions.rows, partitions.rows)
        outside = (source < partitions.starts(partitions.begins)) | (source >= partitions.ends(partitions.begins))
        taken = partitions.columns[column].take(pa.array(source, mask=outside))
        if absent is None or not outside.any():
            return taken
        values = pa.concat_arrays([taken, pa.array([absent], call.type.arrow)])
        return values.take(pa.array(np.where(outside, partitions.rows, np.arange(partitions.rows))))

    return compute
