"""The stream plan's operators to which the order of rows matters: the first of a key, the first n, windows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from risingpy.plan.joins import PassedRows
from risingpy.plan.logical import SortKey
from risingpy.plan.properties import ColumnIndex, Properties
from risingpy.plan.window_calls import WindowCall
from risingpy.storage.codec.table_schema import TableSchema

if TYPE_CHECKING:
    from risingpy.plan.operators import StreamPlan


@dataclass(frozen=True, slots=True)
class Dedup:
    """Of an append-only input, the first row for every value of `key`; within an epoch the first by stream key.

    Stream key: `key`. Append-only. State: the values that have been seen, `key → ()`.
    """

    input: StreamPlan
    key: tuple[ColumnIndex, ...]
    table: TableSchema
    properties: Properties


@dataclass(frozen=True, slots=True)
class StreamTopN:
    """Of every group, in the order of `order`, then of the input's stream key, `limit` rows (None: all) after `offset`.

    With an empty `group_key` the whole input is one group. `with_ties`: rows that are equal to the last one by
    `order` come too. Stream key: the group key where a group has at most one row, else the group key and the
    input's. State: the input's rows, `group key | order | input's stream key → the other columns`; of an append-only
    input only the first `offset + limit` of each group, for the others can never come back; if that is one row,
    `group key → the other columns`.
    """

    input: StreamPlan
    group_key: tuple[ColumnIndex, ...]
    order: tuple[SortKey, ...]
    limit: int | None
    offset: int
    with_ties: bool
    table: TableSchema
    properties: Properties

    @property
    def keeps_one_row(self) -> bool:
        """Whether one row per group is all that is ever needed of the input."""
        return self.input.properties.append_only and (self.limit, self.offset, self.with_ties) == (1, 0, False)


@dataclass(frozen=True, slots=True)
class LocalTopN:
    """First phase of a TopN of an append-only input, before the exchange: of the epoch's rows, those that may be in it.

    The first `reach` rows, in the order of `order`, then of the input's stream key, and with `with_ties` those that are
    equal to the last one by `order`: for any other row there are enough before it. Of no groups: most have few rows in
    an epoch. No state.
    """

    input: StreamPlan
    order: tuple[SortKey, ...]
    reach: int
    with_ties: bool
    properties: Properties


@dataclass(frozen=True, slots=True)
class StreamOverWindow:
    """Adds to each row what `calls` give over its partition: the rows that agree on `partition_by`, in `order_by`.

    Output: the input's columns, then one per call. Rows that `order_by` does not tell apart are in the order of the
    input's stream key. Stream key: the partition's columns and the input's key. State: the output itself,
    `partition | order | input's stream key → the other columns and the results`, so that what was given out is known.
    With `emit_on_window_close` the rows come in the order of `order_by`, and a row is given out when its results are
    final: at once where no call looks at rows behind its own, else when the calls `awaits` have a value for it. Rows
    are forgotten then, if the calls look back a bounded number of rows, and no row to come needs them.
    `passed`: which rows are in sessions that a watermark has closed, and are forgotten.
    """

    input: StreamPlan
    partition_by: tuple[ColumnIndex, ...]
    order_by: tuple[SortKey, ...]
    calls: tuple[WindowCall, ...]
    table: TableSchema
    properties: Properties
    emit_on_window_close: bool = False
    awaits: tuple[int, ...] = ()
    passed: PassedRows | None = None
