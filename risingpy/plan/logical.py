"""The logical plan: what a query means, the same for a batch SELECT and for a materialized view.

The binder makes it, `rules/` rewrite it, `batch/` answers it and `optimizer/stream/` turns it into
a stream plan. Expressions refer to columns of the node's input by position; for a join the left input's columns come
first. Each node's `schema` is its output, kept by the node: asked of the input each time, it would take as long as the
plan is deep.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

from risingpy.plan.expressions import Expr
from risingpy.plan.window_calls import WindowCall
from risingpy.types import SqlType


@dataclass(frozen=True, slots=True)
class Field:
    """An output column. Hidden fields are left out of `*` and of results."""

    name: str
    type: SqlType
    hidden: bool = False


Schema = tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class SortKey:
    """Order by the column at `index`. PostgreSQL's default: NULLS LAST ascending, NULLS FIRST descending."""

    index: int
    descending: bool = False
    nulls_first: bool = False


class JoinKind(Enum):
    """Which rows a join gives. The values are the names that EXPLAIN prints."""

    INNER = "Inner"
    LEFT = "LeftOuter"
    RIGHT = "RightOuter"
    FULL = "FullOuter"
    CROSS = "Cross"
    LEFT_SEMI = "LeftSemi"  # the left rows that have a match; output: the left columns only
    LEFT_ANTI = "LeftAnti"  # the left rows that have none; output: the left columns only
    ASOF = "AsOfInner"  # of the matches of a left row only the nearest by the one inequality
    ASOF_LEFT = "AsOfLeftOuter"
    TEMPORAL = "TemporalInner"  # with the right table as it is when the left row comes; in a query an inner join
    TEMPORAL_LEFT = "TemporalLeftOuter"


# The kinds of joins through which a filter above may move down to a side.
FILTERS_LEFT = frozenset(JoinKind) - {JoinKind.RIGHT, JoinKind.FULL}
FILTERS_RIGHT = frozenset({JoinKind.INNER, JoinKind.CROSS, JoinKind.RIGHT})


PYTHON_AGGREGATE = "python_aggregate"


@dataclass(frozen=True, slots=True)
class AggCall:
    """An aggregate over columns of the input.

    `function` is the canonical name (count, sum, string_agg, …); `count(*)` has no `args`.
    `filter` is the position of a boolean column of the input: only rows where it is true count. `order_by` is the
    order in which the rows are taken, where that makes a difference; a percentile's fraction is its first argument.
    A user's aggregate is called PYTHON_AGGREGATE and has a `definition`.
    """

    function: str
    args: tuple[int, ...]
    type: SqlType
    distinct: bool = False
    filter: int | None = None
    order_by: tuple[SortKey, ...] = ()
    definition: str = ""

    @property
    def columns_read(self) -> tuple[int, ...]:
        """Every column of the input that the call reads, some perhaps twice."""
        condition = () if self.filter is None else (self.filter,)
        return (*self.args, *condition, *(key.index for key in self.order_by))

    def moved(self, positions: Mapping[int, int]) -> AggCall:
        """The call over an input whose columns have moved: old position → new position."""
        return replace(
            self,
            args=tuple(positions[arg] for arg in self.args),
            filter=None if self.filter is None else positions[self.filter],
            order_by=tuple(replace(key, index=positions[key.index]) for key in self.order_by),
        )


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Scan:
    """Reads a relation of the catalog: the columns whose catalog positions are `columns`.

    `relation_id` and `name` (schema-qualified) identify it; the catalog has its key and properties. The positions are
    those of the relation's `version`. `counts_only`: nothing reads the one column, only the number of rows counts.
    """

    relation_id: int
    name: str
    columns: tuple[int, ...]
    schema: Schema
    version: int = 0
    counts_only: bool = False
    not_null: tuple[int, ...] = ()  # catalog positions of the columns that are never NULL, ascending
    key: tuple[int, ...] = ()  # catalog positions of columns that tell the rows apart; empty: not known


@dataclass(frozen=True, slots=True, weakref_slot=True)
class SystemScan:
    """Reads a system relation (`pg_catalog.pg_class`), whose rows are made of the catalog and the session when it runs.

    `columns` are positions among the relation's own columns; the one after the last is `tableoid`, its oid. A query may
    read one, nothing that is stored may.
    """

    relation_schema: str
    name: str
    columns: tuple[int, ...]
    schema: Schema


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Values:
    """Constant rows. `SELECT 1` reads one row of no columns."""

    rows: tuple[tuple[Expr, ...], ...]
    schema: Schema


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Filter:
    """Keeps the rows for which `predicate` is true."""

    input: LogicalPlan
    predicate: Expr
    schema: Schema = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "schema", self.input.schema)


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Project:
    """Computes `expressions` of each row."""

    input: LogicalPlan
    expressions: tuple[Expr, ...]
    schema: Schema


@dataclass(frozen=True, slots=True, weakref_slot=True)
class ProjectSet:
    """For each row of the input, a row per element of `lists`, which are expressions of array types.

    Output: the input's columns, the element's number from 1 (bigint), then the element of each list. Lists go in step;
    one that is shorter than another is NULL at its end. A row whose lists are empty or NULL goes; with `outer` it comes
    once, with NULLs.
    """

    input: LogicalPlan
    lists: tuple[Expr, ...]
    schema: Schema
    outer: bool = False


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Aggregate:
    """Groups by the columns at `group_key`; output: the group columns, then one column per call.

    With no group key: exactly one row, even over nothing. With no calls: DISTINCT over the group key.
    """

    input: LogicalPlan
    group_key: tuple[int, ...]
    calls: tuple[AggCall, ...]
    schema: Schema


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Join:
    """Joins on `condition` (over left columns, then right columns); None for CROSS.

    Of right rows that are equally near, an ASOF join takes the first by `ties`, columns of the right side.
    """

    left: LogicalPlan
    right: LogicalPlan
    kind: JoinKind
    condition: Expr | None
    schema: Schema
    ties: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Apply:
    """A dependent join: for each row of `left`, the rows of `right`, which calls the row's `args` CorrelatedRefs.

    INNER, CROSS, LEFT, LEFT_SEMI or LEFT_ANTI. `condition` is over left columns, then right columns; None for CROSS.
    The rule `apply_to_join` makes joins of all of them.
    """

    left: LogicalPlan
    right: LogicalPlan
    kind: JoinKind
    args: tuple[Expr, ...]
    condition: Expr | None
    schema: Schema


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Union:
    """UNION ALL of inputs with equal types. UNION is an Aggregate without calls above it."""

    inputs: tuple[LogicalPlan, ...]
    schema: Schema


@dataclass(frozen=True, slots=True, weakref_slot=True)
class ChangeLog:
    """The changes of the input's rows, as rows that stay: WITH name AS changelog FROM input.

    Output: the input's columns, `changelog_op` (1 insert, 2 delete, 3 the new row of an update, 4 the old one), and the
    hidden `_changelog_epoch` (bigint). No function of what the input holds: only a view can keep it.
    """

    input: LogicalPlan
    schema: Schema


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Expand:
    """`copies` copies of every row, each with its number, a bigint from 0, as a last column."""

    input: LogicalPlan
    copies: int
    schema: Schema


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Sort:
    """Orders the rows."""

    input: LogicalPlan
    keys: tuple[SortKey, ...]
    schema: Schema = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "schema", self.input.schema)


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Limit:
    """Skips `offset` rows and passes on `limit` (None: all). Both are constants or parameters, of type bigint.

    `with_ties`: the input is a Sort, and rows that are equal to the last one by its keys come too.
    """

    input: LogicalPlan
    limit: Expr | None
    offset: Expr | None
    with_ties: bool = False
    schema: Schema = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "schema", self.input.schema)


@dataclass(frozen=True, slots=True, weakref_slot=True)
class TopN:
    """Of every group of rows that agree on `group_key`, in the order of `keys`, the first `limit` after `offset`.

    `with_ties`: the rows that are equal to the last of these by `keys` too. The output comes in no order.
    """

    input: LogicalPlan
    group_key: tuple[int, ...]
    keys: tuple[SortKey, ...]
    limit: int
    with_ties: bool = False
    offset: int = 0
    schema: Schema = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "schema", self.input.schema)


@dataclass(frozen=True, slots=True, weakref_slot=True)
class OverWindow:
    """Adds to each row what `calls` give over its partition; output: the input's columns, then one per call.

    The rows that agree on `partition_by` are a partition; those that agree on `order_by` too are peers.
    """

    input: LogicalPlan
    partition_by: tuple[int, ...]
    order_by: tuple[SortKey, ...]
    calls: tuple[WindowCall, ...]
    schema: Schema


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Recursion:
    """WITH RECURSIVE: the rows of `start`, then, as long as rows come, those of `step` over the rows that came last.

    Within `step` a RecursiveScan of `name` reads these. `distinct` (UNION): a row that was there already does not come.
    Rows are told apart by their columns, or by `keys`, expressions over these, if there are some. `limit`: after so
    many steps a view stops, if it says so itself.
    """

    start: LogicalPlan
    step: LogicalPlan
    name: str
    distinct: bool
    schema: Schema
    keys: tuple[Expr, ...] = ()
    limit: int | None = None


@dataclass(frozen=True, slots=True, weakref_slot=True)
class RecursiveScan:
    """The rows that the innermost Recursion of that name added last, or those of an item of a MutualRecursion."""

    name: str
    schema: Schema


@dataclass(frozen=True, slots=True, weakref_slot=True)
class MutualRecursion:
    """WITH MUTUALLY RECURSIVE: its `items` are computed one after the other, again and again, until none changes.

    All items begin empty. Within each, a RecursiveScan of one of `names` reads the rows that this item had last: those
    of the same round if it comes before, else those of the round before. Output: the number of an item (integer, from
    0), then the columns of all items, which are NULL in the rows of others.
    `limit`: after so many rounds the query fails, or, with `returns_at_limit`, has the rows of the last round.
    """

    items: tuple[LogicalPlan, ...]
    names: tuple[str, ...]
    schema: Schema
    limit: int | None = None
    returns_at_limit: bool = False

    def columns_of(self, number: int) -> range:
        """The positions of an item's columns in the output."""
        first = 1 + sum(len(item.schema) for item in self.items[:number])
        return range(first, first + len(self.items[number].schema))


@dataclass(frozen=True, slots=True, weakref_slot=True)
class GivenRows:
    """The rows that a statement hands to its query when it runs, and how it calls them; none is stored."""

    schema: Schema
    name: str = "given_rows"


LogicalPlan = (
    Scan
    | SystemScan
    | Values
    | Filter
    | Project
    | Aggregate
    | Join
    | Apply
    | ProjectSet
    | Union
    | ChangeLog
    | Expand
    | Sort
    | Limit
    | TopN
    | OverWindow
    | Recursion
    | RecursiveScan
    | MutualRecursion
    | GivenRows
)
