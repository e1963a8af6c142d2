"""Plans WITH RECURSIVE: an operator that runs its step within the epoch, level by level.

    Recursion(start, step)  =>  StreamRecursion(Exchange(single; start), step over a StreamRecursiveScan)

* The step's rows get their level as a first column, as a correlated subquery's get the value that it asks for
  (`push_down_domain.py`): what the step groups, sorts or numbers, it does within a level, as PostgreSQL does within its
  working table.
* All of a recursion is on one shard: its exchange would have to run once for each level. What the step reads besides
  comes through exchanges, so that a further run of the step has no other input (`StreamPlanner.stream`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

from risingpy.errors import InternalError
from risingpy.optimizer.rewrite import plan_inputs, rewrite_plan
from risingpy.optimizer.rules.numeric_keys import is_keyed, key_of_expression, key_type
from risingpy.optimizer.rules.push_down_domain import Domain
from risingpy.optimizer.stream.aggregation import exchange
from risingpy.optimizer.stream.distribution import SINGLE
from risingpy.optimizer.stream.expressions import unsupported
from risingpy.plan.expressions import Call, Expr, InputRef, Literal
from risingpy.plan.logical import (
    Aggregate,
    Field,
    LogicalPlan,
    MutualRecursion,
    Project,
    Recursion,
    RecursiveScan,
    Schema,
)
from risingpy.plan.operators import Exchange, StreamPlan
from risingpy.plan.properties import Properties
from risingpy.plan.recursion import RecursiveRows, StreamRecursion, StreamRecursiveScan
from risingpy.plan.recursion_tables import derivations_table, members_table
from risingpy.plan.traversal import nodes_of_fragment
from risingpy.types import BIGINT

# A level takes a millisecond or more: without a limit, a recursion that never ends would end by the job's time alone.
DEFAULT_LIMIT = 10_000
_LEVEL = Field("_level", BIGINT, hidden=True)
_NUMBER = Field("_number", BIGINT, hidden=True)

StepOf = Callable[[LogicalPlan, StreamRecursiveScan], StreamPlan]


def reads_recursion(plan: LogicalPlan, names: Collection[str]) -> bool:
    """Whether the plan reads one of the recursions around it that have these names."""
    match plan:
        case RecursiveScan():
            return plan.name in names
        case Recursion():
            inside = [name for name in names if name != plan.name]
            return reads_recursion(plan.start, names) or reads_recursion(plan.step, inside)
        case _:
            return any(reads_recursion(each, names) for each in plan_inputs(plan))


def with_recursion_limit(plan: LogicalPlan, limit: int) -> LogicalPlan:
    """The plan of a view whose recursions may take so many steps, unless they say themselves how many."""

    def limited(each: LogicalPlan) -> LogicalPlan:
        if isinstance(each, Recursion) or (isinstance(each, MutualRecursion) and each.limit is None):
            return replace(each, limit=limit)
        return each

    return rewrite_plan(plan, limited)


def on_one_shard(input: StreamPlan) -> Exchange:
    """An exchange that brings all rows of `input` to the shard of recursions; it is there even if they are there."""
    if isinstance(input, Exchange):
        return replace(input, properties=replace(input.properties, distribution=SINGLE))
    return exchange(input, ())


def with_keys(plan: LogicalPlan, first: int = 0) -> LogicalPlan:
    """The plan with a key for each wide numeric from column `first` on: their own bytes do not tell equal ones."""
    columns: list[Expr] = [InputRef(i, field.type) for i, field in enumerate(plan.schema)]
    keys = keys_of(plan.schema[first:])
    if not keys:
        return plan
    values = [key_of_expression(column) for column in columns[first:] if is_keyed(column.type)]
    return Project(plan, (*columns, *values), (*plan.schema, *keys))


def keys_of(schema: Schema) -> Schema:
    """The columns of the keys of wide numerics, as `with_keys` adds them."""
    return tuple(Field(f"_key_{f.name}", key_type(f.type), hidden=True) for f in schema if is_keyed(f.type))


def plan_recursion(
    query: Recursion, start: StreamPlan, step_of: StepOf, job: str, allocate: Callable[[], int]
) -> StreamRecursion:
    """The stream plan of `query`, whose start is planned, `with_keys` and on one shard.

    `step_of` plans the logical step, in which a RecursiveScan is the given one.
    """
    schema = (*query.schema, *keys_of(query.schema))
    rows = rows_of_recursion(schema, job, allocate, distinct=query.distinct)
    number = rows.derivations.table_id
    scanned = (_LEVEL, *schema) if query.distinct else (_LEVEL, *schema, _NUMBER)
    identity = tuple(1 + i for i in rows.identity)
    key = (0, *identity) if query.distinct else (0, *identity, 1 + len(schema))
    scan = StreamRecursiveScan(number, Properties(scanned, key, SINGLE, append_only=False))
    step = step_of(with_keys(_levelled(query), 1), scan)
    check_leaves(step, number)
    output = schema if query.distinct else (*schema, _LEVEL, _NUMBER)
    own = rows.identity if query.distinct else (*rows.identity, len(schema), len(schema) + 1)
    limit = DEFAULT_LIMIT if query.limit is None else query.limit
    properties = Properties(output, own, SINGLE, append_only=False)
    return StreamRecursion(start, step, number, rows, limit, job, properties)


def rows_of_recursion(
    schema: Schema, job: str, allocate: Callable[[], int], *, distinct: bool = False, weighted: bool = False
) -> RecursiveRows:
    """How a recursion keeps rows with these columns, `keys_of` them included."""
    identity = tuple(i for i, field in enumerate(schema) if not is_keyed(field.type))
    carried = tuple(i for i, field in enumerate(schema) if is_keyed(field.type))
    fields = [schema[i] for i in identity], [schema[i] for i in carried]
    members = members_table(allocate(), job, *fields) if distinct else None
    derivations = derivations_table(allocate(), job, *fields)
    return RecursiveRows(len(schema), identity, carried, derivations, members, weighted)


def _levelled(query: Recursion) -> LogicalPlan:
    """The step with the level of its rows as a first column: one more than that of the rows that it reads."""
    scan = RecursiveScan(query.name, (_LEVEL, *query.schema))
    levels = Aggregate(scan, (0,), (), (_LEVEL,))
    step = Domain(levels, {}, frozenset({query.name})).pushed(query.step)
    level, *columns = (InputRef(i, field.type) for i, field in enumerate(step.schema))
    following = Call("add", (level, Literal(1, BIGINT)), BIGINT)
    return Project(step, (following, *columns), (_LEVEL, *query.schema))


def check_leaves(step: StreamPlan, number: int) -> None:
    """Raises InternalError if a further run of the step would read more than the recursion's rows.

    What comes through an exchange may have recursions of its own.
    """
    for node in nodes_of_fragment(step):
        if isinstance(node, Exchange) and any(_reads(n, number) for n in nodes_of_fragment(node.input)):
            raise InternalError("an exchange within the step of a recursion")


def _reads(node: StreamPlan, number: int) -> bool:
    return isinstance(node, StreamRecursiveScan) and node.number == number


def refuse_time() -> None:
    """Raises FeatureNotSupported: the time moves between epochs, and the step runs many times in one."""
    hint = "Filter by the time in the start, in what the step joins, or above the recursion."
    raise unsupported("now() over the recursive reference in a materialized view", hint)


def refuse_temporal_join() -> None:
    """Raises FeatureNotSupported: a temporal join looks rows up on the shards of the table."""
    hint = "Join the table itself: the view then follows its changes."
    raise unsupported("a temporal join of the recursive reference in a materialized view", hint)
