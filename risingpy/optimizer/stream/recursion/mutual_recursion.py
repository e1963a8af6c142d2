"""Plans WITH MUTUALLY RECURSIVE: a recursion whose step reads and gives differences.

    MutualRecursion(items)  =>  the contents of StreamRecursion(no start, StreamLet(part, …, step))

The step goes from level to level as that of WITH RECURSIVE does (`recursion.py`), and on one shard. Its parts that have
several readers are computed once in each run of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from risingpy.optimizer.rules.numeric_keys import is_keyed
from risingpy.optimizer.stream.distribution import SINGLE
from risingpy.optimizer.stream.projection import select_columns
from risingpy.optimizer.stream.recursion.differences import (
    ALL_ITEMS,
    LEVEL,
    WEIGHT,
    StepPart,
    contents_of,
    differences_of,
)
from risingpy.optimizer.stream.recursion.recursion import (
    DEFAULT_LIMIT,
    check_leaves,
    keys_of,
    rows_of_recursion,
    with_keys,
)
from risingpy.plan.logical import Field, LogicalPlan, MutualRecursion, RecursiveScan, Schema, Values
from risingpy.plan.operators import StreamPlan
from risingpy.plan.properties import ColumnIndex, Properties
from risingpy.plan.recursion.operators import MomentsOf, StreamLet, StreamMoments, StreamRecursion, StreamRecursiveScan
from risingpy.plan.recursion.tables import moments_table
from risingpy.types import BIGINT

PlanOf = Callable[[LogicalPlan, Mapping[str, StreamPlan]], StreamPlan]
"""Plans a query in which RecursiveScans of these names are the given plans."""

_DIFFERENCES = "#differences"
_NUMBER = Field("_number", BIGINT, hidden=True)


def plan_mutual_recursion(query: MutualRecursion, plan_of: PlanOf, job: str, allocate: Callable[[], int]) -> StreamPlan:
    """The stream plan of `query`. Raises FeatureNotSupported if an item has what a step cannot repeat."""
    differences = differences_of(query)
    schema = (*query.schema, *keys_of(query.schema))
    width, keyed = len(query.schema), len(schema)
    rows = rows_of_recursion(schema, job, allocate, weighted=True)
    number = rows.derivations.table_id
    scan = StreamRecursiveScan(number, _kept((LEVEL, *schema, WEIGHT), (0, *(1 + i for i in rows.identity))))
    # Queries know nothing of the keys of wide numerics, which come last for them.
    scans: dict[str, StreamPlan] = {
        ALL_ITEMS: select_columns(scan, [*range(1 + width), 1 + keyed, *range(1 + width, 1 + keyed)])
    }
    parts: list[tuple[int, StreamPlan]] = []
    for part in differences.parts:
        planned, id_ = _planned(part, plan_of, scans, job, allocate), allocate()
        scans[part.name] = StreamRecursiveScan(id_, _kept(planned.properties.schema, planned.properties.stream_key))
        parts.append((id_, planned))
    step = plan_of(with_keys(differences.step, 1), scans)
    order = [*range(1 + width), *range(2 + width, 2 + keyed), 1 + width]
    step = select_columns(step, [*order, *(i for i in step.properties.stream_key if i not in order)])
    for id_, planned in reversed(parts):
        step = StreamLet(id_, planned, step, step.properties)
    check_leaves(step, number)
    count = len(query.items)
    limit = DEFAULT_LIMIT if query.limit is None else query.limit
    recursion = StreamRecursion(
        plan_of(Values((), query.schema), {}),
        step,
        number,
        rows,
        limit * count - 1,
        job,
        _kept((*schema, LEVEL, WEIGHT), (*rows.identity, keyed)),
        levels_of_round=count,
        returns_at_limit=query.returns_at_limit,
    )
    found = select_columns(recursion, [*range(width), keyed, keyed + 1, *range(width, keyed)])
    contents = contents_of(RecursiveScan(_DIFFERENCES, (*query.schema, LEVEL, WEIGHT)))
    return plan_of(contents, {_DIFFERENCES: found})


def _planned(
    part: StepPart, plan_of: PlanOf, scans: Mapping[str, StreamPlan], job: str, allocate: Callable[[], int]
) -> StreamPlan:
    """A part of the step, whose first columns are those of its schema."""
    if part.gives is None:
        return plan_of(part.plan, scans)
    input = plan_of(with_keys(part.plan, 2), scans)
    columns, rows = part.plan.schema[2:], input.properties.schema[2:]
    width = len(columns) + len(keys_of(columns))
    identity = tuple(i for i in range(width) if not is_keyed(rows[i].type))
    carried = tuple(i for i in range(width) if is_keyed(rows[i].type))
    kept = [rows[i] for i in identity], [rows[i] for i in carried]
    table = moments_table(allocate(), job, *kept, part.grouped)
    numbers = (_NUMBER,) if part.gives is MomentsOf.ROWS else ()
    schema = (*part.schema[:2], *rows[:width], *numbers)
    key = (0, *(2 + i for i in identity), *(2 + width + i for i in range(len(numbers))))
    return StreamMoments(input, part.grouped, width, identity, carried, part.gives, table, _kept(schema, key))


def _kept(schema: Schema, key: tuple[ColumnIndex, ...]) -> Properties:
    return Properties(schema, key, SINGLE, append_only=False)
