"""The stream plan of WITH RECURSIVE: an operator that runs its step again and again, and what the step reads."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, TypeAlias

from risingpy.plan.properties import ColumnIndex, Properties
from risingpy.storage.codec.table_schema import TableSchema

if TYPE_CHECKING:
    from risingpy.plan.operators import StreamPlan


@dataclass(frozen=True, slots=True)
class RecursiveRows:
    """How the rows of a recursion are told apart and kept.

    A row has `width` columns: those of the query, then the keys of wide numerics. Its `identity` are those by which it
    is compared, and `carried` the others. `derivations`: `identity | level → carried, in how many ways the step (or,
    at level 0, the start) gives the row at that level`. `members`, only of UNION: `identity → level, carried`, the
    least level of each row, where the step reads it.
    `weighted`, of WITH MUTUALLY RECURSIVE: the step gives rows with weights, and `derivations` has the sum of those of
    a level, perhaps a negative one, in place of their number.
    """

    width: int
    identity: tuple[ColumnIndex, ...]
    carried: tuple[ColumnIndex, ...]
    derivations: TableSchema
    members: TableSchema | None
    weighted: bool = False

    @property
    def tables(self) -> tuple[TableSchema, ...]:
        """What it keeps."""
        return (self.derivations,) if self.members is None else (self.derivations, self.members)


@dataclass(frozen=True, slots=True)
class StreamRecursion:
    """WITH RECURSIVE: the rows of `start` at level 0, and at each further level those of `step` over the level before.

    The first columns of `start` are a row's. Those of `step` are the level and then a row's. Within `step`, the
    StreamRecursiveScan of the same `number` reads the rows, each with its level. What the step derives of a row is on
    that row's shard; what else it reads comes through exchanges, so that only they and that scan are its leaves.
    UNION has each row at its least level alone; UNION ALL as often as it is derived, at each level.
    A row at a level beyond `limit` stops the job `view`.
    Output: a row's columns; UNION ALL adds its level and its number among equal rows of that level.
    Stream key: the identity, and those two. State: `rows`.
    WITH MUTUALLY RECURSIVE has differences for rows (`optimizer/stream/recursion/differences.py`), and the weight in
    place of the number, which is not in the key. A round goes through `levels_of_round` levels. With `returns_at_limit`
    levels beyond `limit` are left out.
    """

    start: StreamPlan
    step: StreamPlan
    number: int
    rows: RecursiveRows
    limit: int
    view: str
    properties: Properties
    levels_of_round: int = 1
    returns_at_limit: bool = False


@dataclass(frozen=True, slots=True)
class StreamLevels:
    """WITH RECURSIVE as StreamRecursion has it, where rows of the step change their shard: a fragment's root.

    The step is in fragments of its own, which read the rows by StreamLevelScans of the same `number`. They run again
    for each level, and this fragment before them, with the lowest level that has changes on any shard.
    `start` and `step` are Exchanges by the identity. The columns of `step` are the level and a row's.
    Output: a level, a row's columns; for UNION ALL its number among equal rows of the level. Who reads it through a
    Share has the changes of all levels, after the last one.
    Stream key: the identity; for UNION ALL all of it. State: `rows`.
    """

    start: StreamPlan
    step: StreamPlan
    number: int
    rows: RecursiveRows
    limit: int
    view: str
    properties: Properties


class MomentsOf(Enum):
    """What comes of differences.

    ROWS and DISTINCT_ROWS: the contents at each moment, rows as often as they are or once. Differences again: GROUPS,
    when groups come and go; LEAST and GREATEST, the row of each group that is so by the column after the group's.
    """

    ROWS = "rows"
    DISTINCT_ROWS = "distinct_rows"
    GROUPS = "groups"
    LEAST = "least"
    GREATEST = "greatest"

    @property
    def are_contents(self) -> bool:
        return self in (MomentsOf.ROWS, MomentsOf.DISTINCT_ROWS)


@dataclass(frozen=True, slots=True)
class StreamMoments:
    """What groups of the input's rows contain at each of their moments, the levels at which one of their rows changes.

    Input: the level and weight of a row, and its columns, `width` of them. Of these, counted from 0, the columns
    `identity` tell it apart, the first `grouped` of them its group; `carried` are the others. Other columns follow.
    Output: the level of the moment and that of the group's next one (NULL if none follows), a row that the group then
    has, and, for ROWS, its number among equal ones; or, if it gives no contents, differences: a level, a weight, a row.
    Stream key: the level, the identity, that number.
    State: one table, `group | level | rest of the identity → carried, weight`.
    """

    input: StreamPlan
    grouped: int
    width: int
    identity: tuple[ColumnIndex, ...]
    carried: tuple[ColumnIndex, ...]
    gives: MomentsOf
    table: TableSchema
    properties: Properties


@dataclass(frozen=True, slots=True)
class StreamLet:
    """Computes `input` once in each run, for all StreamRecursiveScans of its `number` within `body`.

    Output: that of `body`. Stream key: the same. No state. A Share, unlike this, ends a fragment.
    """

    number: int
    input: StreamPlan
    body: StreamPlan
    properties: Properties


@dataclass(frozen=True, slots=True)
class StreamRecursiveScan:
    """The rows of the recursion `number`: the level, the row's columns; for UNION ALL its number among equal rows.

    Or those of the StreamLet of that number.

    In one run of the step these are the changes of one level, and of rows that another level had too early. Stream
    key: the level, the identity, that number. No state.
    """

    number: int
    properties: Properties


@dataclass(frozen=True, slots=True)
class StreamLevelScan:
    """The rows of the StreamLevels `number` whose level's turn it is. A fragment border, like a Share of it.

    Stream key: the level, the identity; for UNION ALL the number. No state.
    """

    number: int
    properties: Properties


RecursivePlan: TypeAlias = (
    StreamRecursion | StreamLevels | StreamMoments | StreamLet | StreamRecursiveScan | StreamLevelScan
)


def tables_of_recursion(plan: RecursivePlan) -> tuple[TableSchema, ...]:
    """The state tables of an operator."""
    match plan:
        case StreamRecursion() | StreamLevels():
            return plan.rows.tables
        case StreamMoments():
            return (plan.table,)
        case StreamLet() | StreamRecursiveScan() | StreamLevelScan():
            return ()
