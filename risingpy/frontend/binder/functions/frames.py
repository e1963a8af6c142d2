"""Frame clauses: ROWS, RANGE and GROUPS, from where to where, and without whom. PostgreSQL's rules and errors."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from risingpy.errors import FeatureNotSupported, SqlError, WindowError
from risingpy.frontend.binder.expressions.expression_binder import ExpressionBinder
from risingpy.frontend.binder.scope.windows import OrderItem
from risingpy.frontend.binder.trees import position_of
from risingpy.frontend.binder.typing.coercion import Context, Operand, can_coerce, narrowed
from risingpy.plan.expressions import Cast, Expr
from risingpy.plan.window_calls import BoundKind, Frame, FrameBound, FrameExclusion, FrameUnits
from risingpy.types import BIGINT, DOUBLE, INTERVAL, NUMERIC, SqlType, TypeKind

_SIDES = {"PRECEDING": BoundKind.PRECEDING, "FOLLOWING": BoundKind.FOLLOWING}
_UNBOUNDED = {"PRECEDING": BoundKind.UNBOUNDED_PRECEDING, "FOLLOWING": BoundKind.UNBOUNDED_FOLLOWING}
_TIMES = frozenset({TypeKind.DATE, TypeKind.TIME, TypeKind.TIMESTAMP, TypeKind.TIMESTAMPTZ, TypeKind.INTERVAL})


def bind_frame(binder: ExpressionBinder, spec: exp.WindowSpec | None, order_by: Sequence[OrderItem]) -> Frame:
    """The frame that `spec` says, the default one without it. `order_by` is the window's."""
    if spec is None:
        return Frame()
    units = FrameUnits(str(spec.args["kind"]).upper())
    start = _bound(binder, spec.args.get("start"), spec.args.get("start_side"), units, order_by)
    end_given = spec.args.get("end")
    end = FrameBound(BoundKind.CURRENT_ROW)
    if end_given is not None:
        end = _bound(binder, end_given, spec.args.get("end_side"), units, order_by)
    _check(start, end, both=end_given is not None)
    if units is FrameUnits.GROUPS and not order_by:
        raise WindowError("GROUPS mode requires an ORDER BY clause")
    exclude = spec.args.get("exclude")
    exclusion = FrameExclusion.NO_OTHERS if exclude is None else FrameExclusion(exclude.name.upper())
    return Frame(units, start, end, exclusion)


def _bound(
    binder: ExpressionBinder,
    given: exp.Expr | str | None,
    side: str | None,
    units: FrameUnits,
    order_by: Sequence[OrderItem],
) -> FrameBound:
    word = (side or "").upper()
    if isinstance(given, str):
        return FrameBound(BoundKind.CURRENT_ROW if given.upper() == "CURRENT ROW" else _UNBOUNDED[word])
    assert given is not None
    offset = binder.bind(given)
    column = next(iter(given.find_all(exp.Column)), None)
    if column is not None:
        message = f"argument of {units.value} must not contain variables"
        raise SqlError(message, sqlstate="42P10", position=position_of(column))
    return FrameBound(_SIDES[word], _offset(binder, offset, units, order_by))


def _check(start: FrameBound, end: FrameBound, *, both: bool) -> None:
    if start.kind is BoundKind.UNBOUNDED_FOLLOWING:
        raise WindowError("frame start cannot be UNBOUNDED FOLLOWING")
    if end.kind is BoundKind.UNBOUNDED_PRECEDING:
        raise WindowError("frame end cannot be UNBOUNDED PRECEDING")
    if start.kind is BoundKind.CURRENT_ROW and end.kind is BoundKind.PRECEDING:
        raise WindowError("frame starting from current row cannot have preceding rows")
    if start.kind is BoundKind.FOLLOWING and not both:
        raise WindowError("frame starting from following row cannot end with current row")
    if start.kind is BoundKind.FOLLOWING and end.kind in (BoundKind.PRECEDING, BoundKind.CURRENT_ROW):
        raise WindowError("frame starting from following row cannot have preceding rows")


def _offset(binder: ExpressionBinder, offset: Operand, units: FrameUnits, order_by: Sequence[OrderItem]) -> Expr:
    """The offset in the type that it is added in."""
    coercer = binder.context.coercer
    if units is not FrameUnits.RANGE:
        if not can_coerce(offset.type, BIGINT, Context.IMPLICIT):
            message = f"argument of {units.value} must be type bigint, not type {offset.type.kind.value}"
            raise SqlError(message, sqlstate="42804", position=offset.position)
        return coercer.coerce(offset, BIGINT, Context.IMPLICIT)
    if len(order_by) != 1:
        raise WindowError("RANGE with offset PRECEDING/FOLLOWING requires exactly one ORDER BY column")
    ordered = order_by[0].expr.type
    target = _range_offset_type(ordered)
    shown = f"RANGE with offset PRECEDING/FOLLOWING is not supported for column type {ordered.kind.value}"
    if target is None:
        raise FeatureNotSupported(shown, position=offset.position)
    if not can_coerce(offset.type, target, Context.IMPLICIT):
        raise FeatureNotSupported(
            f"{shown} and offset type {offset.type.kind.value}",
            position=offset.position,
            hint="Cast the offset value to an appropriate type.",
        )
    expr = narrowed(coercer.coerce(offset, target, Context.IMPLICIT))
    return expr if expr.type == target or target.kind is TypeKind.NUMERIC else Cast(expr, target)


def _range_offset_type(ordered: SqlType) -> SqlType | None:
    """What PostgreSQL's in_range functions add to a column of this type."""
    if ordered.kind in _TIMES:
        return INTERVAL
    if ordered.is_integer:
        return BIGINT
    if ordered.is_float:
        return DOUBLE
    return NUMERIC if ordered.kind is TypeKind.NUMERIC else None  # with its own decimals, however few the column has
