"""Plans ORDER BY … LIMIT, LIMIT alone, and the first rows of groups (DISTINCT ON, `row_number() … <= k`).

    TopN(group, order, limit; input)  =>  TopN(Exchange(group; input))
    TopN(order, limit; append-only)   =>  TopN(Exchange(LocalTopN(input)))

If a group's rows are already on one shard, there is no exchange. Without ORDER BY the order is that of the stream key:
any rows would do, but they must be the same ones in every epoch and after every recovery.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from risingpy.errors import FeatureNotSupported, InvalidTableDefinition
from risingpy.functions.evaluation.evaluate import evaluate_constants
from risingpy.optimizer.stream.aggregation import exchange
from risingpy.optimizer.stream.dedup import plan_dedup
from risingpy.optimizer.stream.distribution import brings_together
from risingpy.optimizer.stream.properties import derived, underived
from risingpy.optimizer.stream.watermarks import watermarks_first
from risingpy.plan import operators
from risingpy.plan.expression_trees import walk
from risingpy.plan.expressions import Expr, Literal, Parameter
from risingpy.plan.logical import SortKey
from risingpy.plan.operators import StreamPlan
from risingpy.plan.ordered import LocalTopN, StreamTopN
from risingpy.plan.properties import ColumnIndex
from risingpy.plan.state_tables import one_row_per_group, ordered_rows
from risingpy.types import BOOLEAN

LARGEST_LOCAL = 10_000  # rows: selecting more of them before the exchange costs more than sending all
LARGEST_WINDOW = 1 << 62  # more rows than there can be; offset + limit is still a 64-bit number


@dataclass(frozen=True, slots=True)
class TopRows:
    """Which rows of each group: `limit` (None: all) after `offset`, in the order of `keys`."""

    keys: tuple[SortKey, ...]
    limit: int | None
    offset: int = 0
    with_ties: bool = field(default=False, kw_only=True)
    group_key: tuple[ColumnIndex, ...] = field(default=(), kw_only=True)


def plan_top_n(input: StreamPlan, rows: TopRows, job: str, allocate: Callable[[], int]) -> StreamPlan:
    """The operator that gives `rows` of `input`; only `input` if these are all rows."""
    schema = input.properties.schema
    if rows.limit == 0:
        return derived(operators.StreamFilter(input, Literal(False, BOOLEAN), underived(schema)))
    if rows.limit is None and not rows.offset:
        return input
    group_key = watermarks_first(input, tuple(dict.fromkeys(rows.group_key)))
    order = _needed_order(rows.keys, group_key)
    if input.properties.append_only and group_key and (rows.limit, rows.offset, order) == (1, 0, ()):
        return plan_dedup(input, group_key, job, allocate)
    if not brings_together(input.properties.distribution, group_key):
        input = exchange(input if group_key else _locally_first(input, rows, order), group_key)
    distribution = input.properties.distribution.columns
    table = ordered_rows(allocate(), job, "top_n", input.properties, group_key, order, distribution)
    limit = None if rows.limit is None else min(rows.limit, LARGEST_WINDOW)
    offset = min(rows.offset, LARGEST_WINDOW)
    top = StreamTopN(input, group_key, order, limit, offset, rows.with_ties, table, underived(schema))
    return derived(replace(top, table=one_row_per_group(table)) if top.keeps_one_row else top)


def _locally_first(input: StreamPlan, rows: TopRows, order: tuple[SortKey, ...]) -> StreamPlan:
    if not input.properties.append_only or rows.limit is None or rows.limit + rows.offset > LARGEST_LOCAL:
        return input
    properties = underived(input.properties.schema)
    reach = rows.limit + rows.offset
    return derived(LocalTopN(input, order, reach, rows.with_ties, properties))


def _needed_order(keys: tuple[SortKey, ...], group_key: tuple[ColumnIndex, ...]) -> tuple[SortKey, ...]:
    """The keys without those that order nothing: repeated columns, and columns of the group key."""
    needed: dict[ColumnIndex, SortKey] = {}
    for key in keys:
        if key.index not in group_key:
            needed.setdefault(key.index, key)
    return tuple(needed.values())


def row_count(expression: Expr | None, clause: str) -> int | None:
    """The number of rows in a LIMIT or OFFSET, which must be constant; None if there is no number."""
    if expression is None:
        return None
    if any(isinstance(part, Parameter) for part in walk(expression)):
        raise InvalidTableDefinition("a materialized view cannot have parameters")
    (values,), errors = evaluate_constants([expression])
    value = values[0].as_py()
    if errors or (value is not None and value < 0):
        raise FeatureNotSupported(f"{clause} must be a number of rows")
    return None if value is None else int(value)
