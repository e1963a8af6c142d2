"""Plans joins.

    Inner(a.x = b.y AND a.n > b.n; a, b)  =>  HashJoin(a.x = b.y; a.n > b.n; Exchange(x; a), Exchange(y; b))

* Equalities between the two sides are the join key (`join_condition.py`). A key that must be computed becomes a hidden
  column below. Both inputs are exchanged by the join key, unless their rows are already distributed so.
* Without an equality, every row must be compared with all of the other side (`nested_loop_join.py`); a notice says so.
* A semi or anti join by equality alone reads only the distinct keys of its right side: another row of the same key then
  changes nothing. One that only asks whether there is any row reads one row.
* A side has a degree table, with the number of matches of each row, only if the join must know whether a row has a
  match, and the row can have several. With one at most, the arrival or departure of that match tells it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from risingpy.errors import FeatureNotSupported
from risingpy.optimizer.estimated_rows import RowEstimates
from risingpy.optimizer.join_condition import inequality, key_expressions, split_condition
from risingpy.optimizer.stream.aggregation import exchange, plan_aggregate
from risingpy.optimizer.stream.distribution import hash_by
from risingpy.optimizer.stream.interval_join import with_passed_rows
from risingpy.optimizer.stream.nested_loop_join import met_without_key, notices_of
from risingpy.optimizer.stream.projection import projected, references, select_columns, with_columns
from risingpy.optimizer.stream.properties import derived, underived
from risingpy.optimizer.stream.recursion.spread import met_in_step
from risingpy.plan import logical
from risingpy.plan.expression_trees import remapped
from risingpy.plan.expressions import Expr, Literal
from risingpy.plan.joins import AsOfJoin, HashJoin, JoinSide
from risingpy.plan.key_types import has_other_forms
from risingpy.plan.logical import Field, JoinKind
from risingpy.plan.operators import StreamPlan
from risingpy.plan.properties import ColumnIndex, DistributionKind
from risingpy.plan.state_tables import degree_table, join_table
from risingpy.types import INTEGER

T = TypeVar("T")

_SEMI = frozenset({JoinKind.LEFT_SEMI, JoinKind.LEFT_ANTI})
_LEFT_SHOWS = frozenset({JoinKind.LEFT, JoinKind.FULL, JoinKind.LEFT_SEMI, JoinKind.LEFT_ANTI})
_RIGHT_SHOWS = frozenset({JoinKind.RIGHT, JoinKind.FULL})


@dataclass(frozen=True, slots=True)
class PlannedJoin:
    """A join whose first columns are the logical join's; `notices` are for the client."""

    plan: StreamPlan
    notices: tuple[str, ...] = ()


def plan_join(
    join: logical.Join,
    left: StreamPlan,
    right: StreamPlan,
    job: str,
    allocate: Callable[[], int],
    estimates: RowEstimates,
    *,
    in_step: bool = False,
) -> PlannedJoin:
    """The stream plan of `join` over its inputs' plans. `allocate` gives the state tables' ids.

    `in_step`: of a recursion, whose rows stay where they are.
    """
    if join.kind in (JoinKind.ASOF, JoinKind.ASOF_LEFT):
        return PlannedJoin(_plan_as_of(join, left, right, job, allocate, in_step=in_step))
    widths = len(join.left.schema), len(join.right.schema)
    condition = split_condition(join.condition, widths[0])
    keys = condition.keys
    any_row = join.kind in _SEMI and not keys and condition.rest is None
    if any_row:  # the right side becomes one row, if it has any
        right, widths = projected(right, [Literal(1, INTEGER), *references(right)]), (widths[0], 1)
        right, _ = _distinct(join, right, (0,), job, allocate)
    left_keys, right_keys = key_expressions(keys)
    left, left_key = with_columns(left, left_keys)
    right, right_key = with_columns(right, right_keys)
    order = _watermarks_first(left, left_key, right, right_key)
    keys, left_key, right_key = _ordered(keys, order), _ordered(left_key, order), _ordered(right_key, order)
    if join.kind in _SEMI and condition.rest is None and not any_row and not _is_unique(right, right_key):
        right, right_key = _distinct(join, right, right_key, job, allocate)
    if in_step:
        left, right = met_in_step((left, right), (left_key, right_key))
    elif keys:
        left, right = _brought_together(left, left_key, right, right_key)
    else:
        left, right = met_without_key(join.kind, left, right, estimates)
    rest = None if condition.rest is None else _moved(condition.rest, left, widths)
    null_safe = tuple(key.null_safe for key in keys)
    maker = _SideMaker(job, allocate)
    left_degree = join.kind in _LEFT_SHOWS and not any_row and not _is_unique(right, right_key)
    left_side = maker.side(left, left_key, needs_degree=left_degree)
    right_side = maker.side(right, right_key, needs_degree=join.kind in _RIGHT_SHOWS and not _is_unique(left, left_key))
    left_side, right_side = with_passed_rows((left_side, right_side), rest, left, right)
    schema = _schema(join.kind, left, right)
    planned = derived(HashJoin(left, right, join.kind, left_side, right_side, null_safe, rest, underived(schema)))
    return PlannedJoin(_in_order(planned, join, widths), () if any_row else notices_of(planned))


def _plan_as_of(
    join: logical.Join,
    left: StreamPlan,
    right: StreamPlan,
    job: str,
    allocate: Callable[[], int],
    *,
    in_step: bool,
) -> StreamPlan:
    widths = len(join.left.schema), len(join.right.schema)
    condition = split_condition(join.condition, widths[0])
    nearest = None if condition.rest is None else inequality(condition.rest, widths[0])
    if nearest is None or not condition.keys:
        raise FeatureNotSupported(
            "an ASOF JOIN in a materialized view needs an equality and one inequality between its sides, of one type",
            hint="For example, ON a.k = b.k AND a.at >= b.at.",
        )
    left_keys, right_keys = key_expressions(condition.keys)
    left, (*left_key, left_column) = with_columns(left, [*left_keys, nearest.left])
    right, (*right_key, right_column) = with_columns(right, [*right_keys, nearest.right])
    met = met_in_step((left, right), (tuple(left_key), tuple(right_key))) if in_step else None
    left, right = met or _brought_together(left, tuple(left_key), right, tuple(right_key))
    maker = _SideMaker(job, allocate)
    planned = derived(
        AsOfJoin(
            left,
            right,
            join.kind is JoinKind.ASOF_LEFT,
            maker.side(left, tuple(left_key), needs_degree=False),
            maker.side(right, tuple(right_key), needs_degree=False),
            tuple(key.null_safe for key in condition.keys),
            left_column,
            nearest.comparison,
            right_column,
            underived((*left.properties.schema, *right.properties.schema)),
            join.ties,
        )
    )
    return _in_order(planned, join, widths)


def _watermarks_first(
    left: StreamPlan, left_key: Sequence[ColumnIndex], right: StreamPlan, right_key: Sequence[ColumnIndex]
) -> list[int]:
    """The positions in the join key; the first one with a watermark on both sides leads, since it cleans the state."""
    pairs = zip(left_key, right_key, strict=True)
    have = [left.properties.watermark_of(a) and right.properties.watermark_of(b) for a, b in pairs]
    first = next((i for i, both in enumerate(have) if both), 0)
    return sorted(range(len(have)), key=lambda i: i != first)


def _ordered(items: tuple[T, ...], order: Sequence[int]) -> tuple[T, ...]:
    return tuple(items[i] for i in order)


def _is_unique(input: StreamPlan, key: Sequence[ColumnIndex]) -> bool:
    """Whether no two rows have the same `key`."""
    schema = input.properties.schema
    return all(i in key and not has_other_forms(schema[i].type) for i in input.properties.stream_key)


def _distinct(
    join: logical.Join, right: StreamPlan, key: tuple[ColumnIndex, ...], job: str, allocate: Callable[[], int]
) -> tuple[StreamPlan, tuple[ColumnIndex, ...]]:
    """The distinct keys of the right side."""
    fields = tuple(right.properties.schema[i] for i in key)
    grouped = logical.Aggregate(join.right, key, (), fields)
    return plan_aggregate(grouped, right, job, allocate), tuple(range(len(key)))


def _brought_together(
    left: StreamPlan, left_key: tuple[ColumnIndex, ...], right: StreamPlan, right_key: tuple[ColumnIndex, ...]
) -> tuple[StreamPlan, StreamPlan]:
    """Both inputs, distributed by the join key."""
    for one, key in ((left, left_key), (right, right_key)):
        spread = _spread(one, key)
        if spread is not None:
            break
    else:
        spread = tuple(range(len(left_key)))
    return _sent(left, left_key, spread), _sent(right, right_key, spread)


def _spread(input: StreamPlan, key: Sequence[ColumnIndex]) -> tuple[int, ...] | None:
    """The positions in `key` by which the rows are distributed; None if other columns take part."""
    given = input.properties.distribution
    if given.kind is not DistributionKind.HASH or not set(given.columns) <= set(key):
        return None
    return tuple(key.index(column) for column in given.columns)


def _sent(input: StreamPlan, key: tuple[ColumnIndex, ...], spread: tuple[int, ...]) -> StreamPlan:
    columns = tuple(key[i] for i in spread)
    return input if input.properties.distribution == hash_by(columns) else exchange(input, columns)


def _moved(rest: Expr, left: StreamPlan, widths: tuple[int, int]) -> Expr:
    """The condition over the physical columns: the left side's hidden columns come before the right columns."""
    first = len(left.properties.schema)
    positions = {i: i for i in range(widths[0])}
    positions |= {widths[0] + i: first + i for i in range(widths[1])}
    return remapped(rest, positions)


@dataclass(frozen=True, slots=True)
class _SideMaker:
    job: str
    allocate: Callable[[], int]

    def side(self, input: StreamPlan, key: tuple[ColumnIndex, ...], *, needs_degree: bool) -> JoinSide:
        table = join_table(self.allocate(), self.job, input.properties, key)
        degree = degree_table(self.allocate(), self.job, table) if needs_degree else None
        return JoinSide(key, table, degree)


def _schema(kind: JoinKind, left: StreamPlan, right: StreamPlan) -> tuple[Field, ...]:
    if kind in _SEMI:
        return left.properties.schema
    both = (*left.properties.schema, *right.properties.schema)
    return (*both, Field("_side", INTEGER, hidden=True)) if kind is JoinKind.FULL else both


def _in_order(planned: HashJoin | AsOfJoin, join: logical.Join, widths: tuple[int, int]) -> StreamPlan:
    """The logical join's columns first, then the hidden ones that the stream key needs."""
    first = len(planned.left.properties.schema)
    kept = list(range(widths[0]))
    if join.kind not in _SEMI:
        kept += [first + i for i in range(widths[1])]
    kept += [i for i in planned.properties.stream_key if i not in kept]
    kept += [i for i in planned.properties.distribution.columns if i not in kept]
    hidden = [replace(field, hidden=True) for field in planned.properties.schema]
    visible = set(kept[: len(join.schema)])
    schema = tuple(f if i in visible else hidden[i] for i, f in enumerate(planned.properties.schema))
    shown = replace(planned, properties=replace(planned.properties, schema=schema))
    return select_columns(shown, kept)
