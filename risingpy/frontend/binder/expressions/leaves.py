"""Leaves of expressions: constants, parameters and intervals, as they are written."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from risingpy.errors import SyntaxError_
from risingpy.frontend.binder.expressions.expression_binder import ExpressionBinder
from risingpy.frontend.binder.trees import position_of
from risingpy.frontend.binder.typing.coercion import Context, Operand
from risingpy.frontend.binder.typing.constants import typed_literal
from risingpy.frontend.binder.typing.literals import number_literal
from risingpy.frontend.parser.function_parser import DIGITS
from risingpy.frontend.parser.interval_fields import interval_text
from risingpy.plan.expressions import Expr, Literal
from risingpy.types import BIT, BOOLEAN, INTERVAL, UNKNOWN
from risingpy.types.time_precision import MOST_DIGITS


def bind_literal(binder: ExpressionBinder, tree: exp.Literal) -> Expr:
    """A text stays unknown until its use gives it a type; for a number see `number_literal`."""
    return Literal(str(tree.this), UNKNOWN) if tree.is_string else number_literal(str(tree.this), position_of(tree))


def bind_text(binder: ExpressionBinder, tree: exp.Expr) -> Expr:
    """A constant in a spelling of its own, such as `N'…'` or `$$…$$`: an unknown literal, like one in plain quotes."""
    return Literal(str(tree.this), UNKNOWN)


def bind_boolean(binder: ExpressionBinder, tree: exp.Boolean) -> Expr:
    """TRUE and FALSE have their type at once."""
    return Literal(bool(tree.this), BOOLEAN)


def bind_null(binder: ExpressionBinder, tree: exp.Null) -> Expr:
    """An unknown literal: its use gives it a type."""
    return Literal(None, UNKNOWN)


def bind_parameter(binder: ExpressionBinder, tree: exp.Parameter) -> Expr:
    """`$n`. Its type is what the client declared, or what its first use says."""
    return binder.parameter(int(tree.this.name), position_of(tree))


def bind_interval(binder: ExpressionBinder, tree: exp.Interval) -> Expr:
    """An interval constant. `INTERVAL '…' HOUR` cuts off what is smaller than the field, as PostgreSQL does."""
    unit = tree.args.get("unit")
    written = interval_text(tree.this.name, "" if unit is None else unit.name.lower())
    literal = Operand(Literal(written.text, UNKNOWN), position_of(tree.this))
    digits = tree.meta.get(DIGITS)
    target = INTERVAL if digits is None else replace(INTERVAL, length=min(digits, MOST_DIGITS))
    interval = binder.context.coercer.coerce(literal, target, Context.EXPLICIT)
    if written.smallest is None:
        return interval
    field = Operand(Literal(written.smallest, UNKNOWN), position_of(tree))
    return binder.calls.function("date_trunc", [field, Operand(interval, position_of(tree))], position_of(tree))


def bind_bits(binder: ExpressionBinder, tree: exp.BitString | exp.HexString) -> Expr:
    """B'101' and X'1f': a bit string of as many bits as are written."""
    base = "b" if isinstance(tree, exp.BitString) else "x"
    return typed_literal(f"{base}{tree.this}", BIT, "UTC", position_of(tree))


def refuse_star(binder: ExpressionBinder, tree: exp.Star) -> Expr:
    """Raises a syntax error: a star stands only in a select list and in count(*), which bind it themselves."""
    raise SyntaxError_('syntax error at or near "*"', position=position_of(tree))


def refuse_default(binder: ExpressionBinder, tree: exp.Var) -> Expr:
    """Raises a syntax error: DEFAULT stands only in VALUES of INSERT and in SET of UPDATE."""
    raise SyntaxError_("DEFAULT is not allowed in this context", position=position_of(tree))
