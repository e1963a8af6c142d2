"""What a row of constants takes at the moment when it is computed: the next numbers of sequences, and the time.

    INSERT INTO t (v) VALUES ($1)   =>   nextval(t_id_seq), $1, now()   for a table with a serial key and DEFAULT now()

DuckDB would compute them, too, but its start takes a hundred times as long.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, TypeAlias, assert_never

import numpy as np
from numpy.typing import NDArray

from risingpy.errors import NumericValueOutOfRange
from risingpy.plan.expressions import Call, Cast, Expr, Literal
from risingpy.types import TIMESTAMP, TIMESTAMPTZ, SqlType, TypeKind
from risingpy.types.time_precision import rounded_value

_LIMITS = {TypeKind.SMALLINT: 1 << 15, TypeKind.INTEGER: 1 << 31, TypeKind.BIGINT: 1 << 63}


Clock: TypeAlias = Callable[[], datetime]
"""What now() gives, in UTC: the time at which the transaction began."""


class GivesNumbers(Protocol):
    """Gives numbers of sequences (`statement_limits.Sequences`)."""

    def next(self, oid: int, count: int, checked: bool) -> NDArray[np.int64]:
        """The next `count` numbers; `checked`: if the session's role may take them."""


@dataclass(frozen=True, slots=True)
class NextNumber:
    """A call of nextval, perhaps cast to a smaller integer."""

    oid: int
    checked: bool
    type: SqlType


@dataclass(frozen=True, slots=True)
class CurrentTime:
    """A call of now(), perhaps cast to a timestamp without time zone: one time for all rows of a statement.

    `type` may have a precision.
    """

    type: SqlType = TIMESTAMPTZ

    def at(self, now: datetime) -> object:
        """Its value when the time is `now`, in UTC, as the evaluator's sessions have it."""
        has_zone = self.type.kind is TypeKind.TIMESTAMPTZ
        return rounded_value(self.type, now if has_zone else now.replace(tzinfo=None))


def of_moment(expr: Expr) -> NextNumber | CurrentTime | None:
    """What the expression takes when it is computed; None if it is another one."""
    match expr:
        case Cast(Call("nextval"), type_, False) if type_.kind in _LIMITS and not type_.system:
            number = of_moment(expr.arg)
            return NextNumber(number.oid, number.checked, type_) if isinstance(number, NextNumber) else None
        case Call("nextval", (Literal(int(oid)), Literal(bool(checked)))):
            return NextNumber(oid, checked, expr.type)
        case Call("now", ()) if expr.type.kind is TypeKind.TIMESTAMPTZ:
            return CurrentTime()
        case Cast(Call("now", ()) as call, type_, False) if type_ == TIMESTAMP:
            return CurrentTime(type_) if of_moment(call) is not None else None
        case Cast(arg, type_, False) if type_.has_clock and type_.kind is arg.type.kind:
            return CurrentTime(type_) if isinstance(of_moment(arg), CurrentTime) else None
    return None


def taken(exprs: Sequence[Expr], numbers: GivesNumbers, now: datetime | None = None) -> list[object]:
    """The values of expressions that are all `of_moment`, of one column. Raises what nextval raises.

    `now`: the statement's time, the same for all its columns; None where no expression asks for it.
    """
    wanted = [of_moment(expr) for expr in exprs]
    counts: dict[tuple[int, bool], int] = {}
    for each in wanted:
        if isinstance(each, NextNumber):
            counts[each.oid, each.checked] = counts.get((each.oid, each.checked), 0) + 1
    given = {key: iter(numbers.next(key[0], count, key[1]).tolist()) for key, count in counts.items()}
    values: list[object] = []
    for each in wanted:
        match each:
            case NextNumber():
                values.append(_within(next(given[each.oid, each.checked]), each.type))
            case CurrentTime():
                values.append(None if now is None else each.at(now))
            case None:
                raise AssertionError("an expression of no moment")
            case _:
                assert_never(each)
    return values


def _within(number: int, type_: SqlType) -> int:
    limit = _LIMITS[type_.kind]
    if not -limit <= number < limit:
        raise NumericValueOutOfRange(f"{type_} out of range")
    return number
