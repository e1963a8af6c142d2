"""Makes join executors of plan nodes."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from risingpy.executors.as_of_join import AsOfJoinExecutor
from risingpy.executors.expression.evaluate import Evaluator
from risingpy.executors.hash_join import HashJoinExecutor
from risingpy.executors.join.changes import JoinSides
from risingpy.executors.join.output import JoinShape, Shows
from risingpy.executors.join.side import SideLayout
from risingpy.optimizer.logical import JoinKind
from risingpy.optimizer.plan import AsOfJoin, HashJoin, JoinSide, StreamPlan
from risingpy.optimizer.rewrite import columns_read, remapped
from risingpy.storage.shard_store import EpochTransaction
from risingpy.storage.state_table import StateTable
from risingpy.storage.table_schema import TableSchema

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
    """What makes an epoch's executor of `plan`."""
    shape, sides = _shape(plan), _sides(plan)
    return lambda transaction: HashJoinExecutor(shape=shape, sides=sides(transaction), empty=empty)


def as_of_join(plan: AsOfJoin, empty: pa.Table) -> Callable[[EpochTransaction], AsOfJoinExecutor]:
    """What makes an epoch's executor of `plan`."""
    sides = _sides(plan)
    right_types = [field.type for field in plan.right.properties.schema]
    return lambda transaction: AsOfJoinExecutor(
        sides=sides(transaction),
        left_column=plan.left_column,
        comparison=plan.comparison,
        right_column=plan.right_column,
        value_type=right_types[plan.right_column],
        right_types=right_types,
        is_outer=plan.is_outer,
        empty=empty,
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


def _shape(plan: HashJoin) -> JoinShape:
    left_shows, right_shows = _SHOWS[plan.kind]
    read = () if plan.condition is None else tuple(sorted(columns_read(plan.condition)))
    condition = None
    if plan.condition is not None:
        condition = Evaluator(remapped(plan.condition, {column: i for i, column in enumerate(read)}), None)
    return JoinShape(
        left_width=len(plan.left.properties.schema),
        types=tuple(field.type for field in plan.properties.schema),
        gives_pairs=plan.kind not in (JoinKind.LEFT_SEMI, JoinKind.LEFT_ANTI),
        left_shows=left_shows,
        right_shows=right_shows,
        marks_side=plan.kind is JoinKind.FULL,
        condition=condition,
        condition_columns=read,
    )


def _layout(input: StreamPlan, side: JoinSide) -> SideLayout:
    return SideLayout(side.key, side.table, len(input.properties.schema))
