"""Plans DISTINCT, and DISTINCT ON without an order, over an append-only input.

    Dedup(key; input)  =>  Dedup(Exchange(key; input))

No row is ever retracted, so the state needs no count of duplicates, and the output only grows.
"""

from __future__ import annotations

from collections.abc import Callable

from risingpy.optimizer.stream.aggregation import exchange
from risingpy.optimizer.stream.distribution import brings_together
from risingpy.optimizer.stream.projection import select_columns
from risingpy.optimizer.stream.properties import derived, underived
from risingpy.optimizer.stream.watermarks import watermarks_first
from risingpy.plan.operators import StreamPlan
from risingpy.plan.ordered import Dedup
from risingpy.plan.properties import ColumnIndex
from risingpy.plan.state_tables import seen_values


def plan_dedup(input: StreamPlan, key: tuple[ColumnIndex, ...], job: str, allocate: Callable[[], int]) -> StreamPlan:
    """The first row for each value of `key`, all columns of `input`."""
    key = watermarks_first(input, key)
    if not brings_together(input.properties.distribution, key):
        input = exchange(input, key)
    table = seen_values(allocate(), job, input.properties, key, input.properties.distribution.columns)
    return derived(Dedup(input, key, table, underived(input.properties.schema)))


def plan_distinct(
    input: StreamPlan, group_key: tuple[ColumnIndex, ...], job: str, allocate: Callable[[], int]
) -> StreamPlan:
    """DISTINCT over the columns of `group_key`, in that order."""
    key = tuple(dict.fromkeys(group_key))
    needed = [*key, *(i for i in input.properties.stream_key if i not in key)]
    positions = {column: i for i, column in enumerate(needed)}
    deduplicated = plan_dedup(select_columns(input, needed), tuple(range(len(key))), job, allocate)
    return select_columns(deduplicated, [positions[column] for column in group_key])
