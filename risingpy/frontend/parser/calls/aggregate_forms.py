"""RisingWave's forms of aggregates, as what PostgreSQL's say.

first_value(x IGNORE NULLS ORDER BY y)  =>  first_value(x ORDER BY y) FILTER (WHERE x IS NOT NULL)
AGGREGATE:f(x ORDER BY y)               =>  f(array_agg(x ORDER BY y))
"""

from __future__ import annotations

from sqlglot import exp

from risingpy.errors import FeatureNotSupported, SyntaxError_
from risingpy.frontend.parser.parser_tools import START

_MAY_IGNORE = ("first_value", "last_value")
Nulls = exp.IgnoreNulls | exp.RespectNulls


def without_nulls(tree: exp.Expr) -> exp.Expr:
    """A call that is not over a window, with FILTER perhaps: what it says of NULLs is in its FILTER.

    Raises FeatureNotSupported for IGNORE NULLS of another aggregate.
    """
    said = tree if isinstance(tree, Nulls) else None
    made = tree if said is None else said.this
    call = made.this if isinstance(made, exp.Filter) else made
    arguments = call.expressions if isinstance(call, exp.Anonymous) else []
    last = arguments[-1] if arguments else None
    ordered = last if isinstance(last, exp.Order) else None
    value = last if ordered is None else ordered.this
    if isinstance(value, Nulls):
        said, inner = value, value.this
        value.replace(inner)
        value = inner
    if said is None or value is None or isinstance(said, exp.RespectNulls):
        return made if said is None or value is not None else tree
    if str(call.this).lower() not in _MAY_IGNORE:
        message = f"IGNORE NULLS of {str(call.this).lower()} is not supported"
        raise FeatureNotSupported(message, position=_position(call))
    condition: exp.Expr = exp.Not(this=exp.Is(this=value.copy(), expression=exp.Null()))
    if isinstance(made, exp.Filter):
        condition = exp.And(this=exp.Paren(this=made.expression.this), expression=condition)
    _place(condition, value)
    return _filtered(call, condition)


def of_all_values(tree: exp.Expr) -> exp.Expr:
    """The call with each argument replaced by the array of its values; DISTINCT, ORDER BY and FILTER go with it.

    Raises FeatureNotSupported for a call over a window, SyntaxError_ for what is no call by a name.
    """
    if isinstance(tree, exp.Window):
        raise FeatureNotSupported("AGGREGATE: over a window is not supported", position=_position(tree.this))
    condition = tree.expression.this if isinstance(tree, exp.Filter) else None
    call = tree.this if isinstance(tree, exp.Filter) else tree
    if not isinstance(call, exp.Anonymous) or not call.expressions:
        raise SyntaxError_("AGGREGATE: takes a call of a function by its name", position=_position(call))
    arguments = list(call.expressions)
    order = arguments[-1] if isinstance(arguments[-1], exp.Order) else None
    if order is not None:
        arguments[-1] = order.this
    distinct = isinstance(arguments[0], exp.Distinct)
    values = [*arguments[0].expressions, *arguments[1:]] if distinct else arguments
    arrays = []
    for value in values:
        item: exp.Expr = exp.Distinct(expressions=[value]) if distinct else value
        if order is not None:
            item = exp.Order(this=item, expressions=[key.copy() for key in order.expressions])
        collected = exp.Anonymous(this="array_agg", expressions=[item])
        _place(collected, value)
        arrays.append(collected if condition is None else _filtered(collected, condition.copy()))
    call.set("expressions", arrays)
    return call


def _filtered(call: exp.Expr, condition: exp.Expr) -> exp.Filter:
    made = exp.Filter(this=call, expression=exp.Where(this=condition))
    _place(made, call)
    return made


def _place(made: exp.Expr, like: exp.Expr) -> None:
    """Errors about what has been made point to where it comes from."""
    for node in made.walk(prune=lambda each: START in each.meta):
        if START not in node.meta and START in like.meta:
            node.meta[START] = like.meta[START]


def _position(tree: exp.Expr) -> int | None:
    start = tree.meta.get(START)
    return None if start is None else int(start) + 1
