"""Makes join executors from the plan's nodes."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from risingpy.executors.expression.evaluate import Evaluator
from risingpy.executors.hash_join import HashJoinExecutor
from risingpy.executors.join.output import JoinShape, Shows
from risingpy.executors.join.side import SideLayout
from risingpy.optimizer.logical import JoinKind
from risingpy.optimizer.plan import HashJoin, JoinSide, StreamPlan
from risingpy.optimizer.rewrite import columns_read, remapped
from risingpy.storage.shard_store import EpochTransaction

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
    shape = _shape(plan)
    layouts = _layout(plan.left, plan.left_side), _layout(plan.right, plan.right_side)
    key_types = [plan.left.properties.schema[i].type for i in plan.left_side.key]

    def make(transaction: EpochTransaction) -> HashJoinExecutor:
        left, right = ((transaction.state_table(s.table), s.degree) for s in (plan.left_side, plan.right_side))
        return HashJoinExecutor(
            shape=shape,
            layouts=layouts,
            key_types=key_types,
            null_safe=plan.null_safe,
            tables=(left[0], right[0]),
            degrees=(
                None if left[1] is None else transaction.state_table(left[1]),
                None if right[1] is None else transaction.state_table(right[1]),
            ),
            empty=empty,
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
