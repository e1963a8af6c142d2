"""The stream plan's joins, a dynamic filter among them, how a side of one is kept, and which intervals must overlap."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from risingpy.plan.expression_trees import columns_read, conjuncts, shifted
from risingpy.plan.expressions import Call, Expr
from risingpy.plan.logical import JoinKind
from risingpy.plan.properties import ColumnIndex, Properties, WatermarkBound
from risingpy.storage.codec.table_schema import TableSchema
from risingpy.types import SqlType, TypeKind

if TYPE_CHECKING:
    from risingpy.plan.operators import StreamPlan


@dataclass(frozen=True, slots=True)
class PassedRows:
    """The rows of a state table that no row to come concerns: `expression` over them is below the least of `bounds`."""

    expression: Expr
    bounds: tuple[WatermarkBound, ...]


@dataclass(frozen=True, slots=True)
class JoinSide:
    """How one input of a join is kept.

    `key` are the columns of the input that must equal the other side's, one by one. `table`: `key | rest of the input's
    stream key → the row`. Its first columns are the input's; behind them, for keys of which equal values may be written
    differently (intervals), are those in their canonical form, which then stand in the key. `degree`: the same key →
    how many rows match, for rows that have a match; only where the join shows whether a row has one, and the other
    side may have several per key. Rows whose key is NULL, and so never match, are in neither. `passed`: which rows may
    be deleted by the watermarks of an interval join.
    """

    key: tuple[ColumnIndex, ...]
    table: TableSchema
    degree: TableSchema | None = None
    passed: PassedRows | None = None


@dataclass(frozen=True, slots=True)
class HashJoin:
    """Joins two inputs whose rows of equal keys are on one shard.

    A pair matches if its keys are equal (NULLs only at the positions where `null_safe`) and `condition` (over left
    columns, then right columns; None: always) is true. Output: the left columns, then the right columns; for a semi or
    anti join the left columns alone. A full join adds a hidden last column that says which side has the row
    (0 both, 1 left, 2 right): both sides' keys may be NULL, which would make two unmatched rows one.
    Stream key: both inputs', without the key columns of a side that always equal the other's, and the join key.
    State: per side a table and, where it must be known whether a row has a match, a degree table.
    Without keys it is a nested-loop join, where each row meets all of the other side: either everything is on one
    shard, or one side, whose rows do not show whether they have a match, is on every shard, with a copy of its table.
    """

    left: StreamPlan
    right: StreamPlan
    kind: JoinKind
    left_side: JoinSide
    right_side: JoinSide
    null_safe: tuple[bool, ...]
    condition: Expr | None
    properties: Properties


@dataclass(frozen=True, slots=True)
class DynamicFilter:
    """Passes on the left rows of which `column comparison bound` is true, one of < <= > >=.

    `bound` is the right input's: at most one row of one column, on every shard. Without a row, or of one that is NULL,
    nothing passes. When it changes, the rows between the old bound and the new one come or go.
    Stream key: the left input's. State: `table`, the left rows whose `column` is not NULL, `column | stream key → the
    other columns`; `bound`, a row in each shard, with the right row's value. `only_forward`: the bound never falls, so
    that a row below it is where it will always be: then only the rows above it are kept, and the output only grows
    where the left input does and the comparison is < or <=.
    """

    left: StreamPlan
    right: StreamPlan
    column: ColumnIndex
    comparison: str
    table: TableSchema
    bound: TableSchema
    only_forward: bool
    properties: Properties


@dataclass(frozen=True, slots=True)
class AsOfJoin:
    """Joins each left row with the nearest right row of its key, by one inequality.

    `left_column comparison right_column`, one of < <= > >=, must be true, and among the right rows for which it is, the
    one is taken whose column is nearest; of several with equal values, the first by the columns `ties`, then by the
    stream key. Without one, the left row comes with NULLs if `is_outer`, else not at all.
    Stream key: the left input's and the join key. State: a table per side, as a HashJoin's.
    """

    left: StreamPlan
    right: StreamPlan
    is_outer: bool
    left_side: JoinSide
    right_side: JoinSide
    null_safe: tuple[bool, ...]
    left_column: ColumnIndex
    comparison: str
    right_column: ColumnIndex
    properties: Properties
    ties: tuple[ColumnIndex, ...] = ()


@dataclass(frozen=True, slots=True)
class TemporalJoin:
    """Joins each left row, when it comes, with the rows that a table or view has for it then (FOR SYSTEM_TIME AS OF).

    Later changes of the table change nothing. `left_key` equals the leading columns of the table's storage key, which
    tell the vnode; `columns` are the table's columns in the output, its storage key among them. `condition` reads
    the left columns, then these. The table is read as it is after the epoch's changes.
    Output: the left columns, then the table's, NULL if `is_outer` and there is no row. Stream key: the left input's,
    the rest of the table's key, and `left_key`. State: none if the left input only grows; else `memo`, `left stream
    key | rest of the table's key → columns`, what each left row has found, to be taken back with it.

    Where the equalities do not tell the vnode, they are `matched`, pairs of a left column and one of the table, perhaps
    none: the left rows are on every shard, and each shard reads all of its part of the table. `left_key` is empty then,
    the join is inner, and the stream key the left input's and the table's key. Each shard has in its memo what it has
    found itself, all at vnode 0, on whichever shard that is: a left row that goes is on every shard, too.
    """

    input: StreamPlan
    upstream: TableSchema
    columns: tuple[ColumnIndex, ...]
    left_key: tuple[ColumnIndex, ...]
    is_outer: bool
    condition: Expr | None
    memo: TableSchema | None
    properties: Properties
    matched: tuple[tuple[ColumnIndex, ColumnIndex], ...] | None = None


def memo_columns(left: StreamPlan, left_key: tuple[int, ...]) -> tuple[int, ...]:
    """The left columns that a memo is kept by: the stream key, and the join key, which tells the vnode."""
    return tuple(dict.fromkeys((*left.properties.stream_key, *left_key)))


_AT_MOST = {"lt": False, "le": False, "gt": True, "ge": True}  # whether the second operand is the smaller one

_ORDERED = frozenset({TypeKind.DATE, TypeKind.TIME, TypeKind.TIMESTAMP, TypeKind.TIMESTAMPTZ, TypeKind.BYTEA})


@dataclass(frozen=True, slots=True)
class SideInterval:
    """The bounds of one side's row, over its own columns."""

    low: Expr
    high: Expr


@dataclass(frozen=True, slots=True)
class IntervalOverlap:
    """A row of the left side and one of the right can only match if their intervals overlap, bounds included."""

    left: SideInterval
    right: SideInterval


def interval_overlap(condition: Expr | None, left_width: int) -> IntervalOverlap | None:
    """What `condition`, over `left_width` left columns and then the right ones, says of intervals; None if nothing.

        a.low <= b.high AND a.high >= b.low    =>  left (a.low, a.high), right (b.low, b.high)
        b.x BETWEEN a.low AND a.high           =>  left (a.low, a.high), right (b.x, b.x)

    Of several, a point in an interval is taken first: a containment of intervals that is written with two comparisons
    looks like an interval that ends before it begins.
    """
    parts = [] if condition is None else conjuncts(condition)
    begins: list[tuple[Expr, Expr]] = []  # left <= right
    ends: list[tuple[Expr, Expr]] = []  # left >= right
    for smaller, larger in _comparisons(parts):
        match _side(smaller, left_width), _side(larger, left_width):
            case 0, 1:
                begins.append((smaller, shifted(larger, -left_width)))
            case 1, 0:
                ends.append((larger, shifted(smaller, -left_width)))
    found = [
        IntervalOverlap(SideInterval(low, high), SideInterval(other_low, other_high))
        for low, other_high in begins
        for high, other_low in ends
        if low.type.arrow == high.type.arrow
    ]
    points = (each for each in found if each.left.low == each.left.high or each.right.low == each.right.high)
    return next(points, found[0] if found else None)


def _comparisons(parts: list[Expr]) -> Iterator[tuple[Expr, Expr]]:
    """The smaller and the larger operand of each comparison whose values have places on a line."""
    for part in parts:
        match part:
            case Call(function, (one, other)) if function in _AT_MOST and one.type.arrow == other.type.arrow:
                if _has_ranks(one.type):
                    yield (other, one) if _AT_MOST[function] else (one, other)


def _has_ranks(type_: SqlType) -> bool:
    """Whether Arrow orders the values as SQL does. Texts are left out for the sake of collations."""
    return type_.is_integer or type_.is_float or type_.kind in _ORDERED or pa.types.is_decimal(type_.arrow)


def _side(expr: Expr, left_width: int) -> int | None:
    sides = {int(column >= left_width) for column in columns_read(expr)}
    return sides.pop() if len(sides) == 1 else None
