"""Plans WITH RECURSIVE: an operator that runs its step within the epoch, level by level.

    Recursion(start, step)  =>  StreamRecursion(Exchange(start), step over a StreamRecursiveScan)
                            or  StreamLevels(Exchange(start), Exchange(step over a StreamLevelScan))

* The step's rows get their level as a first column, as a correlated subquery's get the value that it asks for
  (`push_down_domain.py`): what the step groups, sorts or numbers, it does within a level, as PostgreSQL does within its
  working table.
* If all joins of the step compare columns that it hands on, no row ever leaves its shard: the recursion is spread by
  them (`spread.py`), and goes through its levels within its fragment. Any other is spread by its rows' identity, and
  those of the step move: StreamLevels, whose fragments run once for each level. Recursions that read each other, and
  those around others, are on one shard.
* What the step reads besides comes through exchanges, so that a further run of it has no other input
  (`StreamPlanner.stream`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

from risingpy.errors import InternalError
from risingpy.optimizer.rewrite import plan_inputs, rewrite_plan
from risingpy.optimizer.rules.numeric_keys import is_keyed, key_of_expression, key_type
from risingpy.optimizer.rules.push_down_domain import Domain
from risingpy.optimizer.stream.distribution import SINGLE, distribution, hash_by
from risingpy.optimizer.stream.expressions import unsupported
from risingpy.optimizer.stream.projection import references, select_columns
from risingpy.optimizer.stream.properties import derived, underived
from risingpy.optimizer.stream.recursion.spread import columns_to_spread_by
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
from risingpy.plan.operators import Exchange, Share, StreamPlan, StreamProject
from risingpy.plan.properties import ColumnIndex, Distribution, Properties
from risingpy.plan.recursion.operators import (
    RecursiveRows,
    StreamLevels,
    StreamLevelScan,
    StreamRecursion,
    StreamRecursiveScan,
)
from risingpy.plan.recursion.tables import derivations_table, members_table
from risingpy.plan.traversal import children, nodes_of_fragment
from risingpy.types import BIGINT

# A level takes a millisecond or more: without a limit, a recursion that never ends would end by the job's time alone.
DEFAULT_LIMIT = 10_000
_LEVEL = Field("_level", BIGINT, hidden=True)
_NUMBER = Field("_number", BIGINT, hidden=True)

StepOf = Callable[[LogicalPlan, StreamRecursiveScan | StreamLevelScan], StreamPlan]


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


def sent(input: StreamPlan, distribution: Distribution) -> Exchange:
    """An exchange that distributes the rows of `input` so; it is there even if they are where they belong."""
    input = input.input if isinstance(input, Exchange) else input
    return derived(Exchange(input, replace(input.properties, distribution=distribution)))


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
    query: Recursion,
    start: StreamPlan,
    step_of: StepOf,
    job: str,
    allocate: Callable[[], int],
    share: Callable[[StreamPlan], Share],
    *,
    inside: bool,
) -> StreamPlan:
    """The stream plan of `query`, whose start is planned, `with_keys`.

    `step_of` plans the logical step, in which a RecursiveScan is the given one; what it plans last is taken. Its rows
    may move if that is a StreamLevelScan. `share` makes a part of the plan one that others can read. `inside`: in the
    step of another recursion, on whose shard the start is.
    """
    for columns in () if inside else columns_to_spread_by(query):
        plan = _planned(query, sent(start, hash_by(columns)), step_of, job, allocate)
        stays = plan.step.properties.distribution == hash_by(tuple(1 + column for column in columns))
        if stays and _has_own_leaves(plan.step, plan.number):
            return plan
    if not inside and not _has_recursions(query.step, query.name):
        return _planned_by_levels(query, start, step_of, job, allocate, share)
    plan = _planned(query, start if inside else sent(start, SINGLE), step_of, job, allocate)
    check_leaves(plan.step, plan.number)
    return plan


def _planned(
    query: Recursion, start: StreamPlan, step_of: StepOf, job: str, allocate: Callable[[], int]
) -> StreamRecursion:
    """The plan whose rows are where those of the start are. It is not checked."""
    schema = (*query.schema, *keys_of(query.schema))
    spread = start.properties.distribution
    rows = rows_of_recursion(schema, job, allocate, spread.columns, distinct=query.distinct)
    number = rows.derivations.table_id
    scan = StreamRecursiveScan(number, _of_level(query, schema, rows, spread))
    step = step_of(with_keys(_levelled(query), 1), scan)
    output = schema if query.distinct else (*schema, _LEVEL, _NUMBER)
    own = rows.identity if query.distinct else (*rows.identity, len(schema), len(schema) + 1)
    properties = Properties(output, own, spread, append_only=False)
    return StreamRecursion(start, step, number, rows, _limit(query), job, properties)


def _planned_by_levels(
    query: Recursion,
    start: StreamPlan,
    step_of: StepOf,
    job: str,
    allocate: Callable[[], int],
    share: Callable[[StreamPlan], Share],
) -> StreamPlan:
    """The plan that is spread by its rows' identity, with exchanges in its step.

    Equal rows that the step gives are one before they move, if they cancel: the exchange has the columns of rows alone.
    """
    schema = (*query.schema, *keys_of(query.schema))
    identity, width = identity_of(schema), 1 + len(schema)
    rows = rows_of_recursion(schema, job, allocate, identity, distinct=query.distinct)
    of_level = _of_level(query, schema, rows, hash_by(identity))
    number = rows.derivations.table_id
    step = step_of(with_keys(_levelled(query), 1), StreamLevelScan(number, of_level))
    if len(step.properties.schema) > width:
        given: tuple[Expr, ...] = tuple(references(step))
        columns, input = (step.expressions, step.input) if isinstance(step, StreamProject) else (given, step)
        kept = StreamProject(input, columns[:width], underived(step.properties.schema[:width]))
        somewhere = replace(kept.properties, stream_key=tuple(range(width)), distribution=distribution(kept))
        step = replace(kept, properties=somewhere)
    step = sent(step, of_level.distribution)
    own = of_level if not query.distinct else replace(of_level, stream_key=of_level.stream_key[1:])
    levels = share(StreamLevels(sent(start, hash_by(identity)), step, number, rows, _limit(query), job, own))
    order = range(1, width) if query.distinct else (*range(1, width), 0, width)
    return select_columns(levels, order)


def _has_recursions(plan: LogicalPlan, name: str) -> bool:
    """Whether a recursion within the plan reads that of this name, around it."""
    if isinstance(plan, Recursion | MutualRecursion):
        return reads_recursion(plan, (name,))
    return any(_has_recursions(each, name) for each in plan_inputs(plan))


def _limit(query: Recursion) -> int:
    return DEFAULT_LIMIT if query.limit is None else query.limit


def _of_level(query: Recursion, schema: Schema, rows: RecursiveRows, spread: Distribution) -> Properties:
    """The rows of one level, as the step reads them."""
    scanned = (_LEVEL, *schema) if query.distinct else (_LEVEL, *schema, _NUMBER)
    identity = tuple(1 + i for i in rows.identity)
    key = (0, *identity) if query.distinct else (0, *identity, 1 + len(schema))
    return Properties(scanned, key, replace(spread, columns=tuple(1 + i for i in spread.columns)), append_only=False)


def identity_of(schema: Schema) -> tuple[ColumnIndex, ...]:
    """The columns by which rows with these columns, `keys_of` them included, are told apart."""
    return tuple(i for i, field in enumerate(schema) if not is_keyed(field.type))


def rows_of_recursion(
    schema: Schema,
    job: str,
    allocate: Callable[[], int],
    spread: tuple[ColumnIndex, ...] = (),
    *,
    distinct: bool = False,
    weighted: bool = False,
) -> RecursiveRows:
    """How a recursion, spread by the columns `spread`, keeps rows with these columns, `keys_of` them included."""
    identity = identity_of(schema)
    carried = tuple(i for i, field in enumerate(schema) if is_keyed(field.type))
    fields = [schema[i] for i in identity], [schema[i] for i in carried]
    by = tuple(identity.index(column) for column in spread)
    members = members_table(allocate(), job, *fields, by) if distinct else None
    derivations = derivations_table(allocate(), job, *fields, by)
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
    if not _has_own_leaves(step, number):
        raise InternalError("an exchange within the step of a recursion")


def _has_own_leaves(step: StreamPlan, number: int) -> bool:
    """Whether nothing below the exchanges of the step reads the recursion `number`."""
    rest: list[StreamPlan] = [node for node in nodes_of_fragment(step) if isinstance(node, Exchange)]
    seen: set[int] = set()
    while rest:
        node = rest.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, StreamRecursiveScan) and node.number == number:
            return False
        rest += children(node)
    return True


def refuse_time() -> None:
    """Raises FeatureNotSupported: the time moves between epochs, and the step runs many times in one."""
    hint = "Filter by the time in the start, in what the step joins, or above the recursion."
    raise unsupported("now() over the recursive reference in a materialized view", hint)


def refuse_temporal_join() -> None:
    """Raises FeatureNotSupported: a temporal join looks rows up on the shards of the table."""
    hint = "Join the table itself: the view then follows its changes."
    raise unsupported("a temporal join of the recursive reference in a materialized view", hint)
