"""Makes join executors of plan nodes."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from risingpy.executors.join.as_of_join import AsOfJoinExecutor
from risingpy.executors.join.changes import JoinSides
from risingpy.executors.join.hash_join import HashJoinExecutor
from risingpy.executors.join.intervals import IntervalBounds
from risingpy.executors.join.output import JoinShape, Shows
from risingpy.executors.join.side import SideLayout
from risingpy.executors.join.temporal_join import TemporalJoinExecutor
from risingpy.functions.evaluation.evaluate import Evaluator
from risingpy.plan.expression_trees import columns_read, remapped
from risingpy.plan.expressions import Expr
from risingpy.plan.joins import AsOfJoin, HashJoin, JoinSide, TemporalJoin, interval_overlap, memo_columns
from risingpy.plan.logical import JoinKind, Schema
from risingpy.plan.operators import StreamPlan
from risingpy.storage.codec.table_schema import TableSchema
from risingpy.storage.engine.shard_store import EpochTransaction
from risingpy.storage.engine.state_table import StateTable

_SHOWS: dict[JoinKind, tuple[Shows, Shows]] = {
    JoinKind.INNER: (Shows.NONE, Shows.NONE),
    JoinKind.CROSS: (Shows.NONE, Shows.NONE),
    JoinKind.LEFT: (Shows.UNMATCHED, Shows.NONE),
    JoinKind.RIGHT: (Shows.NONE, Shows.UNMATCHED),
    JoinKind.FULL: (Shows.UNMATCHED, Shows.UNMATCHED),
    JoinKind.LEFT_SEMI: (Shows.MATCHED, Shows.NONE),
    JoinKind.LEFT_ANTI: (Shows.UNMATCHED, Shows.NONE),
}


def hash_join(plan: HashJoin, empty: pa.Table) -> Callable[[EpochTransaction], HashJoinExecutor]:
    """A function that makes an epoch's executor of `plan`."""
    shape = _shape(plan.kind, plan.condition, len(plan.left.properties.schema), plan.properties.schema)
    sides = _sides(plan)
    return lambda transaction: HashJoinExecutor(shape=shape, sides=sides(transaction), empty=empty)


def as_of_join(plan: AsOfJoin, empty: pa.Table) -> Callable[[EpochTransaction], AsOfJoinExecutor]:
    """A function that makes an epoch's executor of `plan`."""
    sides = _sides(plan)
    right_types = [field.type for field in plan.right.properties.schema]
    return lambda transaction: AsOfJoinExecutor(
        sides=sides(transaction),
        left_column=plan.left_column,
        comparison=plan.comparison,
        right_column=plan.right_column,
        value_type=right_types[plan.right_column],
        right_types=right_types,
        ties=plan.ties,
        is_outer=plan.is_outer,
        empty=empty,
    )


def temporal_join(plan: TemporalJoin, empty: pa.Table) -> Callable[[EpochTransaction], TemporalJoinExecutor]:
    """A function that makes an epoch's executor of `plan`."""
    kind = JoinKind.LEFT if plan.is_outer else JoinKind.INNER
    shape = _shape(kind, plan.condition, len(plan.input.properties.schema), plan.properties.schema)
    looked_up, left_key = [key.index for key in plan.upstream.key[: len(plan.left_key)]], plan.left_key
    if plan.matched is not None:
        left_key, looked_up = tuple(a for a, _ in plan.matched), [b for _, b in plan.matched]
    key_types = [plan.upstream.columns[i].type for i in looked_up]
    matched = None if plan.matched is None else [plan.columns.index(i) for i in looked_up]
    return lambda transaction: TemporalJoinExecutor(
        shape=shape,
        table=transaction.state_table(plan.upstream),
        columns=plan.columns,
        left_key=left_key,
        key_types=key_types,
        memo=None if plan.memo is None else transaction.state_table(plan.memo),
        memo_columns=memo_columns(plan.input, plan.left_key),
        empty=empty,
        matched=matched,
    )


def _sides(plan: HashJoin | AsOfJoin) -> Callable[[EpochTransaction], JoinSides]:
    layouts = _layout(plan.left, plan.left_side), _layout(plan.right, plan.right_side)
    key_types = [plan.left.properties.schema[i].type for i in plan.left_side.key]

    def make(transaction: EpochTransaction) -> JoinSides:
        def table(schema: TableSchema | None) -> StateTable | None:
            return None if schema is None else transaction.state_table(schema)

        return JoinSides(
            layouts=layouts,
            key_types=key_types,
            null_safe=plan.null_safe,
            tables=(transaction.state_table(plan.left_side.table), transaction.state_table(plan.right_side.table)),
            degrees=(table(plan.left_side.degree), table(plan.right_side.degree)),
        )

    return make


def _shape(kind: JoinKind, condition: Expr | None, left_width: int, schema: Schema) -> JoinShape:
    left_shows, right_shows = _SHOWS[kind]
    read = () if condition is None else tuple(sorted(columns_read(condition)))
    evaluator = None
    if condition is not None:
        evaluator = Evaluator(remapped(condition, {column: i for i, column in enumerate(read)}), None)
    overlap = interval_overlap(condition, left_width)
    return JoinShape(
        left_width=left_width,
        types=tuple(field.type for field in schema),
        gives_pairs=kind not in (JoinKind.LEFT_SEMI, JoinKind.LEFT_ANTI),
        left_shows=left_shows,
        right_shows=right_shows,
        marks_side=kind is JoinKind.FULL,
        condition=evaluator,
        condition_columns=read,
        intervals=None if overlap is None else IntervalBounds(overlap),
    )


def _layout(input: StreamPlan, side: JoinSide) -> SideLayout:
    return SideLayout(side.key, side.table, len(input.properties.schema))
