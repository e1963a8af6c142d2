"""Hypothetical-set aggregates: the place that a row would have among the rows of the group.

    rank(2) WITHIN GROUP (ORDER BY b)          =>  count(*) FILTER (WHERE b < 2) + 1
    dense_rank(2) WITHIN GROUP (ORDER BY b)    =>  count(DISTINCT ROW(b)) FILTER (WHERE b < 2) + 1
    percent_rank(2) WITHIN GROUP (ORDER BY b)  =>  count(*) FILTER (WHERE b < 2) / count(*), 0 of no rows
    cume_dist(2) WITHIN GROUP (ORDER BY b)     =>  (count(*) FILTER (WHERE b <= 2) + 1) / (count(*) + 1)

So they are counts, which views keep as such.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from sqlglot import exp

from risingpy.errors import FeatureNotSupported, UndefinedFunction
from risingpy.frontend.binder.expressions.expression_binder import ExpressionBinder
from risingpy.frontend.binder.scope.aggregates import DIRECT
from risingpy.frontend.binder.trees import name_of, position_of
from risingpy.plan.expressions import Call, Case, Cast, Expr, Literal
from risingpy.types import BIGINT, BOOLEAN, DOUBLE

HYPOTHETICAL = frozenset({"rank", "dense_rank", "percent_rank", "cume_dist"})
_ONE = Literal(1, BIGINT)


def bind_hypothetical(
    binder: ExpressionBinder, tree: exp.Anonymous, keys: Sequence[exp.Ordered], condition: exp.Expr | None
) -> Expr:
    """The place of the row `tree.expressions` among those for which `condition` is true, in the order of `keys`."""
    name, values, position = name_of(tree.this), list(tree.expressions), position_of(tree)
    if values and isinstance(values[0], exp.Distinct):
        raise FeatureNotSupported("cannot use DISTINCT with WITHIN GROUP", position=position)
    if len(values) != len(keys):
        raise UndefinedFunction(
            f"function {name} with {len(values)} arguments and {len(keys)} ordering columns does not exist",
            position=position,
            hint=f"To use the hypothetical-set aggregate {name}, the number of hypothetical direct arguments "
            f"(here {len(values)}) must match the number of ordering columns (here {len(keys)}).",
        )
    inner = ExpressionBinder(binder.context, binder.scope, "aggregate")
    for key in keys:
        inner.bind(key.this)  # raises for what an aggregate may not take
    note_direct(binder, values)
    before = _before(values, keys)

    def count(where: exp.Expr | None, argument: exp.Expr | None = None) -> Expr:
        call = exp.Anonymous(this="count", expressions=[exp.Star() if argument is None else argument])
        call.meta.update(tree.meta)
        parts = [part.copy() for part in (condition, where) if part is not None]
        if not parts:
            return binder.bind(call).expr
        return binder.bind(exp.Filter(this=call, expression=exp.Where(this=_all(parts)))).expr

    match name:
        case "rank":
            return _plus_one(count(before))
        case "dense_rank":
            row = exp.Anonymous(this="row", expressions=[key.this.copy() for key in keys])
            return _plus_one(count(before, exp.Distinct(expressions=[row])))
        case "percent_rank":
            rows = count(None)
            is_empty = Call("eq", (rows, Literal(0, BIGINT)), BOOLEAN)
            return Case(((is_empty, Literal(0.0, DOUBLE)),), _quotient(count(before), rows), DOUBLE)
        case _:
            same = _all([exp.NullSafeEQ(this=key.this.copy(), expression=v.copy()) for v, key in _pairs(values, keys)])
            return _quotient(_plus_one(count(_any([before, same]))), _plus_one(count(None)))


def note_direct(binder: ExpressionBinder, values: Sequence[exp.Expr]) -> None:
    """The direct arguments of an aggregate WITHIN GROUP, whose columns have to be grouped, and are marked."""
    inner = ExpressionBinder(binder.context, binder.scope, "aggregate")
    for value in values:
        inner.bind(value)  # raises for what an aggregate may not take
    if binder.aggregates is None:
        return
    binder.aggregates.direct += [binder.bind(value) for value in values if value.find(exp.Column)]
    for column in (column for value in values for column in value.find_all(exp.Column)):
        column.meta[DIRECT] = id(binder.scope)


def _before(values: Sequence[exp.Expr], keys: Sequence[exp.Ordered]) -> exp.Expr:
    """Whether a row comes before `values`: by the first key in which it differs."""
    choices, equal = [], list[exp.Expr]()
    for value, key in _pairs(values, keys):
        choices.append(_all([*(part.copy() for part in equal), _less(value, key)]))
        equal.append(exp.NullSafeEQ(this=key.this.copy(), expression=value.copy()))
    return _any(choices)


def _less(value: exp.Expr, key: exp.Ordered) -> exp.Expr:
    comparison = exp.GT if key.args.get("desc") else exp.LT
    first, last = (key.this, value) if key.args.get("nulls_first") else (value, key.this)
    is_null = exp.Is(this=first.copy(), expression=exp.Null())
    is_known = exp.Not(this=exp.Is(this=last.copy(), expression=exp.Null()))
    return _any([comparison(this=key.this.copy(), expression=value.copy()), _all([is_null, is_known])])


def _pairs(values: Sequence[exp.Expr], keys: Sequence[exp.Ordered]) -> list[tuple[exp.Expr, exp.Ordered]]:
    return list(zip(values, keys, strict=True))


def _all(parts: Sequence[exp.Expr]) -> exp.Expr:
    return reduce(lambda a, b: exp.And(this=_grouped(a), expression=_grouped(b)), parts)


def _any(parts: Sequence[exp.Expr]) -> exp.Expr:
    return reduce(lambda a, b: exp.Or(this=_grouped(a), expression=_grouped(b)), parts)


def _grouped(tree: exp.Expr) -> exp.Expr:
    return exp.Paren(this=tree) if isinstance(tree, exp.And | exp.Or) else tree


def _plus_one(count: Expr) -> Expr:
    return Call("add", (count, _ONE), BIGINT)


def _quotient(dividend: Expr, divisor: Expr) -> Expr:
    return Call("divide", (Cast(dividend, DOUBLE), Cast(divisor, DOUBLE)), DOUBLE)
