"""The stream plan of WITH RECURSIVE: an operator that runs its step again and again, and what the step reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

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
    """

    width: int
    identity: tuple[ColumnIndex, ...]
    carried: tuple[ColumnIndex, ...]
    derivations: TableSchema
    members: TableSchema | None


@dataclass(frozen=True, slots=True)
class StreamRecursion:
    """WITH RECURSIVE: the rows of `start` at level 0, and at each further level those of `step` over the level before.

    The first columns of `start` are a row's. Those of `step` are the level and then a row's. Within `step`, the
    StreamRecursiveScan of the same `number` reads the rows, each with its level. All rows are on one shard; what else
    the step reads comes through exchanges, so that only they and that scan are leaves of the step.
    UNION has each row at its least level alone; UNION ALL as often as it is derived, at each level.
    A row at a level beyond `limit` stops the job `view`.
    Output: a row's columns; UNION ALL adds its level and its number among equal rows of that level.
    Stream key: the identity, and those two. State: `rows`.
    """

    start: StreamPlan
    step: StreamPlan
    number: int
    rows: RecursiveRows
    limit: int
    view: str
    properties: Properties


@dataclass(frozen=True, slots=True)
class StreamRecursiveScan:
    """The rows of the recursion `number`: the level, the row's columns; for UNION ALL its number among equal rows.

    In one run of the step these are the changes of one level, and of rows that another level had too early. Stream
    key: the level, the identity, that number. No state.
    """

    number: int
    properties: Properties
