"""The gap of SESSION WITH GAP: a constant that is added to the one ascending column of ORDER BY.

The rule that a row begins a session if it comes the gap or more after the row before is RisingWave's. PostgreSQL has no
sessions.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from sqlglot import exp

from risingpy.errors import DatatypeMismatch, FeatureNotSupported, SqlError, WindowError
from risingpy.frontend.binder.expressions.expression_binder import ExpressionBinder
from risingpy.frontend.binder.scope.sessions import WindowSessions
from risingpy.frontend.binder.scope.windows import OrderItem
from risingpy.frontend.binder.trees import begin_of
from risingpy.frontend.binder.typing.coercion import Context, Operand, can_coerce
from risingpy.optimizer.rules.constant_folding import fold
from risingpy.plan.expressions import Call, Expr, Literal
from risingpy.types import BIGINT, INTERVAL, VARCHAR, SqlType, TypeKind

_TIMES = frozenset({TypeKind.DATE, TypeKind.TIMESTAMP, TypeKind.TIMESTAMPTZ})
_UTC = Literal("UTC", VARCHAR)


def bind_sessions(
    binder: ExpressionBinder, tree: exp.Expr, partition_by: tuple[Expr, ...], order_by: Sequence[OrderItem]
) -> WindowSessions:
    """The sessions of a window with the gap `tree`. Raises errors with the position of the gap."""
    position = begin_of(tree)
    if len(order_by) != 1 or order_by[0].descending:
        raise WindowError(
            "SESSION WITH GAP requires exactly one ORDER BY column, in ascending order", position=position
        )
    time = order_by[0].expr
    gap = _gap(binder, tree, time.type)
    if time.type.kind is TypeKind.TIMESTAMPTZ:  # a day has 24 hours: a session must not depend on the time zone
        limit: Expr = Call("timestamptz_plus", (time, gap, _UTC), time.type)
    else:
        limit = binder.calls.operator("+", [Operand(time, position), Operand(gap, position)], position)
    return WindowSessions(partition_by, time, limit, gap)


def _gap(binder: ExpressionBinder, tree: exp.Expr, ordered: SqlType) -> Literal:
    """The gap's value, in the type that is added to a column of the type `ordered`."""
    position = begin_of(tree)
    if ordered.kind not in _TIMES and not ordered.is_integer:
        message = f"SESSION WITH GAP is not supported for column type {ordered.kind.value}"
        hint = "Order the window by a date, a timestamp or a whole number."
        raise FeatureNotSupported(message, position=position, hint=hint)
    target = BIGINT if ordered.is_integer else INTERVAL
    given = binder.bind(tree)
    if not can_coerce(given.type, target, Context.IMPLICIT):
        message = f"argument of SESSION WITH GAP must be type {target.kind.value}, not type {given.type.kind.value}"
        raise DatatypeMismatch(message, position=position)
    gap = fold(binder.context.coercer.coerce(given, target, Context.IMPLICIT))
    if not isinstance(gap, Literal):
        raise SqlError("argument of SESSION WITH GAP must be a constant", sqlstate="42P10", position=position)
    if gap.value is None:
        raise SqlError("session gap must not be null", sqlstate="22004", position=position)
    if not _is_positive(gap.value):
        raise SqlError("session gap must be greater than zero", sqlstate="22013", position=position)
    return gap


def _is_positive(value: object) -> bool:
    if isinstance(value, pa.MonthDayNano):
        return bool(min(value) >= 0 and max(value) > 0)
    return isinstance(value, int) and value > 0
