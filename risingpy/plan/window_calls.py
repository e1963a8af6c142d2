"""Window functions as data: a function, its arguments, and the frame of rows that it sees."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from risingpy.plan.aggregate_families import OF_VECTORS, REGRESSIONS, SPREADS
from risingpy.plan.expressions import Expr
from risingpy.types import SqlType


class FrameUnits(Enum):
    """What a frame's offsets count: rows, a difference of the ORDER BY value, or groups of peers."""

    ROWS = "ROWS"
    RANGE = "RANGE"
    GROUPS = "GROUPS"


class BoundKind(Enum):
    """Where a frame begins or ends. PRECEDING and FOLLOWING have an offset; the others have none."""

    UNBOUNDED_PRECEDING = "UNBOUNDED PRECEDING"
    PRECEDING = "PRECEDING"
    CURRENT_ROW = "CURRENT ROW"
    FOLLOWING = "FOLLOWING"
    UNBOUNDED_FOLLOWING = "UNBOUNDED FOLLOWING"


@dataclass(frozen=True, slots=True)
class FrameBound:
    """Where a frame begins or ends; PRECEDING and FOLLOWING have an `offset`, a constant or parameter."""

    kind: BoundKind
    offset: Expr | None = None


_PARTITION_START = FrameBound(BoundKind.UNBOUNDED_PRECEDING)
_CURRENT_ROW = FrameBound(BoundKind.CURRENT_ROW)


class FrameExclusion(Enum):
    """Which rows near the current one a frame leaves out, in SQL's words after EXCLUDE."""

    NO_OTHERS = "NO OTHERS"
    CURRENT_ROW = "CURRENT ROW"
    GROUP = "GROUP"
    TIES = "TIES"


@dataclass(frozen=True, slots=True)
class Frame:
    """Which rows of its partition a window function sees from a row. By default: up to the row's last peer."""

    units: FrameUnits = FrameUnits.RANGE
    start: FrameBound = _PARTITION_START
    end: FrameBound = _CURRENT_ROW
    exclusion: FrameExclusion = FrameExclusion.NO_OTHERS


DEFAULT_FRAME = Frame()
WHOLE_PARTITION = Frame(FrameUnits.ROWS, _PARTITION_START, FrameBound(BoundKind.UNBOUNDED_FOLLOWING))


@dataclass(frozen=True, slots=True)
class WindowCall:
    """A window function, or an aggregate over a window.

    `args` are columns of the input, constants or parameters. `filter` is the position of a boolean column: only
    rows where it is true count (aggregates alone have one). `ignore_nulls`: rows where the argument is NULL are
    passed over (lag, lead, first_value, last_value, nth_value).
    """

    function: str
    args: tuple[Expr, ...]
    type: SqlType
    frame: Frame = DEFAULT_FRAME
    filter: int | None = None
    ignore_nulls: bool = False


# `session_end(time, limit, gap)`, of SESSION WITH GAP: the last time of the row's session, in the order of `time`,
# NULLs last. `limit` is `time + gap`, from which on the next session begins. NULL where the time is.
SESSION_END = "session_end"
# Functions that look at the whole partition, whatever the frame.
FRAMELESS = frozenset(
    {"row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile", "lag", "lead", SESSION_END}
)
# Aggregates that may be called over a window.
WINDOW_AGGREGATES = frozenset(
    {"count", "sum", "avg", "min", "max", "bool_and", "bool_or", "bit_and", "bit_or", "bit_xor"}
    | {"string_agg", "array_agg", "arg_min", "arg_max", "stddev", "variance", "approx_count_distinct"}
    | OF_VECTORS
    | SPREADS
    | REGRESSIONS
)
# Those that give one row's value, out of the frame.
VALUE_FUNCTIONS = frozenset({"first_value", "last_value", "nth_value"})
