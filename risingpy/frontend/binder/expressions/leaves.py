"""Leaves of expressions: constants, parameters and intervals, as they are written."""

from __future__ import annotations

from sqlglot import exp

from risingpy.errors import SyntaxError_
from risingpy.frontend.binder.expressions.expression_binder import ExpressionBinder
from risingpy.frontend.binder.trees import position_of
from risingpy.frontend.binder.typing.coercion import Context, Operand
from risingpy.frontend.binder.typing.literals import number_literal, unicode_text
from risingpy.frontend.parser.interval_fields import interval_text
from risingpy.plan.expressions import Expr, Literal
from risingpy.types import BOOLEAN, INTERVAL, UNKNOWN


def bind_literal(binder: ExpressionBinder, tree: exp.Literal) -> Expr:
    return Literal(str(tree.this), UNKNOWN) if tree.is_string else number_literal(str(tree.this), position_of(tree))


def bind_text(binder: ExpressionBinder, tree: exp.Expr) -> Expr:
    return Literal(str(tree.this), UNKNOWN)


def bind_unicode_text(binder: ExpressionBinder, tree: exp.Expr) -> Expr:
    escape = tree.args.get("escape")
    return Literal(unicode_text(str(tree.this), escape.name if escape else "\\", position_of(tree)), UNKNOWN)


def bind_boolean(binder: ExpressionBinder, tree: exp.Boolean) -> Expr:
    return Literal(bool(tree.this), BOOLEAN)


def bind_null(binder: ExpressionBinder, tree: exp.Null) -> Expr:
    return Literal(None, UNKNOWN)


def bind_parameter(binder: ExpressionBinder, tree: exp.Parameter) -> Expr:
    return binder.parameter(int(tree.this.name), position_of(tree))


def bind_interval(binder: ExpressionBinder, tree: exp.Interval) -> Expr:
    unit = tree.args.get("unit")
    written = interval_text(tree.this.name, "" if unit is None else unit.name.lower())
    literal = Operand(Literal(written.text, UNKNOWN), position_of(tree.this))
    interval = binder.context.coercer.coerce(literal, INTERVAL, Context.EXPLICIT)
    if written.smallest is None:
        return interval
    field = Operand(Literal(written.smallest, UNKNOWN), position_of(tree))
    return binder.calls.function("date_trunc", [field, Operand(interval, position_of(tree))], position_of(tree))


def refuse_star(binder: ExpressionBinder, tree: exp.Star) -> Expr:
    raise SyntaxError_('syntax error at or near "*"', position=position_of(tree))


def refuse_default(binder: ExpressionBinder, tree: exp.Var) -> Expr:
    raise SyntaxError_("DEFAULT is not allowed in this context", position=position_of(tree))
