"""How far window functions look ahead: at rows after their own, in the order of the window.

lag(v), sum(v) over (… rows 3 preceding)        not at all: a row's result is final once its peers are there
lead(v, 2), … AND 2 FOLLOWING in ROWS           rows of the partition
… AND 2 FOLLOWING in GROUPS                     groups of peers
… AND '1 hour' FOLLOWING in RANGE               a distance of the ordering column
ntile(4), lead(v, n), UNBOUNDED FOLLOWING       the partition's end: None
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from risingpy.plan.expressions import Call, Cast, Expr, Literal
from risingpy.plan.window_calls import FRAMELESS, BoundKind, FrameUnits, WindowCall
from risingpy.types import BIGINT, TIMESTAMP, VARCHAR, SqlType, TypeKind

_LOOK_BACK = frozenset({"row_number", "rank", "dense_rank"})
_LONGEST_MONTH = 31
_UTC = Literal("UTC", VARCHAR)


@dataclass(frozen=True, slots=True)
class LookAhead:
    """A row's result is final when so many rows and groups of peers have come after it, and `distance` has passed."""

    rows: int = 0
    groups: int = 0
    distance: Literal | None = None


def look_ahead(call: WindowCall) -> LookAhead | None:
    """How far the call looks ahead, given constant offsets. None: to the end of its partition, or not known."""
    if call.function in _LOOK_BACK:
        return LookAhead()
    if call.function in ("lag", "lead"):
        return _of_shift(call)
    if call.function in FRAMELESS:
        return None
    end = call.frame.end
    match end.kind, end.offset:
        case BoundKind.UNBOUNDED_FOLLOWING, _:
            return None
        case BoundKind.FOLLOWING, Literal() as offset:
            return _of_frame(call.frame.units, offset)
        case BoundKind.FOLLOWING, _:
            return None
    return LookAhead()


def _of_shift(call: WindowCall) -> LookAhead | None:
    rows = call.args[1] if len(call.args) > 1 else Literal(1, BIGINT)
    if not isinstance(rows, Literal) or not isinstance(rows.value, int):
        return None
    ahead = rows.value if call.function == "lead" else -rows.value
    return None if call.ignore_nulls and ahead > 0 else LookAhead(rows=max(ahead, 0))


def _of_frame(units: FrameUnits, offset: Literal) -> LookAhead | None:
    if units is FrameUnits.RANGE:
        zero = offset.value in (0, pa.MonthDayNano((0, 0, 0)))
        return LookAhead() if zero else LookAhead(distance=offset)
    if not isinstance(offset.value, int):
        return None
    return LookAhead(rows=offset.value) if units is FrameUnits.ROWS else LookAhead(groups=offset.value)


def set_back(bound: Expr, distance: Literal, type_: SqlType) -> Expr | None:
    """`bound - distance` in the type of a column, or somewhat less; None if there is no such number or time.

    Each month counts as 31 days, so that the difference always rises with `bound`.
    """
    if isinstance(distance.value, int) and type_.is_integer:
        return _cast(Call("subtract", (_cast(bound, BIGINT), distance), BIGINT), type_)
    if not isinstance(distance.value, pa.MonthDayNano):
        return None
    months, days, nanoseconds = distance.value
    distance = Literal(pa.MonthDayNano((0, months * _LONGEST_MONTH + days, nanoseconds)), distance.type)
    if type_.kind is TypeKind.TIMESTAMPTZ:
        return Call("timestamptz_minus", (bound, distance, _UTC), type_)
    return _cast(Call("timestamp_minus", (_cast(bound, TIMESTAMP), distance), TIMESTAMP), type_)


def _cast(expr: Expr, type_: SqlType) -> Expr:
    return expr if expr.type == type_ else Cast(expr, type_)
