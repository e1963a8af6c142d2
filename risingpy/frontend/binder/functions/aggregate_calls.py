"""Calls of aggregate functions as they are written: DISTINCT, ORDER BY, WITHIN GROUP, FILTER.

string_agg(DISTINCT a, ',' ORDER BY a) FILTER (WHERE b)
percentile_cont(0.5) WITHIN GROUP (ORDER BY x)          the sorted expression is the last argument
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from sqlglot import exp

from risingpy.errors import FeatureNotSupported, GroupingError, InvalidParameterValue, SqlError
from risingpy.frontend.binder.expressions.expression_binder import ExpressionBinder
from risingpy.frontend.binder.functions.hypothetical import HYPOTHETICAL, bind_hypothetical, note_direct
from risingpy.frontend.binder.functions.multiranges import RANGE_AGGREGATES, ranges_together
from risingpy.frontend.binder.functions.percentile_arrays import TAKE_ARRAYS, percentiles
from risingpy.frontend.binder.functions.user_defined import chosen_function, definition_text, has_kind
from risingpy.frontend.binder.scope.aggregates import (
    GROUPING,
    AggregateCall,
    OrderKey,
    make_aggregate,
    no_key,
    where_counted,
)
from risingpy.frontend.binder.scope.context import CallArguments
from risingpy.frontend.binder.scope.stars import is_star
from risingpy.frontend.binder.trees import begin_of, name_of, position_of
from risingpy.frontend.binder.typing.coercion import Operand
from risingpy.frontend.binder.typing.signature_calls import no_function
from risingpy.functions.numeric_results import NumericRule, numeric_result
from risingpy.functions.signatures import AGGREGATES, SCALARS
from risingpy.plan.catalog import FunctionKind
from risingpy.plan.expressions import Call, Cast, Expr, Literal
from risingpy.plan.logical import PYTHON_AGGREGATE
from risingpy.types import BIGINT, BOOLEAN, INTEGER
from risingpy.types.enums.enumeration import without_enums

ORDERED_SET = frozenset({"mode", "percentile_cont", "percentile_disc", "approx_percentile"})  # sorted by WITHIN GROUP
_BY_ORDER = frozenset(
    {PYTHON_AGGREGATE, "string_agg", "array_agg", "jsonb_agg", "jsonb_object_agg", "first_value", "last_value"}
)
_EXTREME_OF_ANOTHER = {"arg_min": False, "arg_max": True}  # → whether the largest comes first
_WRONG_KIND = "42809"
_MAX_GROUPING_ARGS = 31


@dataclass(frozen=True, slots=True)
class WrittenCall:
    """An aggregate's call taken apart, nothing bound yet. `within`: what stands in WITHIN GROUP, None without it."""

    name: str
    position: int
    arguments: Sequence[exp.Expr]
    distinct: bool
    order: Sequence[exp.Ordered]
    within: Sequence[exp.Ordered] | None
    condition: exp.Expr | None


def bind_aggregate(
    binder: ExpressionBinder,
    tree: exp.Anonymous,
    name: str,
    *,
    within: Sequence[exp.Ordered] | None = None,
    condition: exp.Expr | None = None,
) -> Expr:
    """The reference to an aggregate's result. Raises GroupingError where none may stand."""
    position = position_of(tree)
    outside = _of_the_query_around(binder, tree)
    if outside is not None:
        return outside
    if binder.aggregates is None:
        if binder.clause == "aggregate":
            raise GroupingError("aggregate function calls cannot be nested", position=position)
        raise GroupingError(f"aggregate functions are not allowed in {binder.clause}", position=position)
    if within is not None and name in ORDERED_SET:
        note_direct(binder, tree.expressions)
    if name == "jsonb_agg":
        array = bind_aggregate(binder, tree, "array_agg", within=within, condition=condition)
        return binder.calls.function("to_jsonb", [Operand(array, position)], position)
    if name == "jsonb_object_agg":
        array = bind_aggregate(binder, of_pairs(binder, tree, name), "array_agg", within=within, condition=condition)
        return binder.calls.form("JSONB_OBJECT_OF_PAIRS", [Operand(array, position)], name)
    if name in RANGE_AGGREGATES:
        array = bind_aggregate(binder, tree, "array_agg", within=within, condition=condition)
        return ranges_together(binder, name, array, position)
    if name in TAKE_ARRAYS and within is not None:
        values = exp.Anonymous(this="count", expressions=[key.this.copy() for key in within])
        values.meta.update(tree.meta)
        count = partial(_bind_plain, binder, "count", None, condition, values)
        array_of_them = percentiles(binder, tree, partial(_bind_plain, binder, name, within, condition), count)
        if array_of_them is not None:
            return array_of_them
    if name == "sum0":
        total = Operand(binder.aggregates.add(_added_up(binder, tree, condition)), position)
        return Cast(binder.calls.form("COALESCE", [total, Operand(Literal(0, BIGINT), position)], "COALESCE"), BIGINT)
    return _bind_plain(binder, name, within, condition, tree)


def _bind_plain(
    binder: ExpressionBinder,
    name: str,
    within: Sequence[exp.Ordered] | None,
    condition: exp.Expr | None,
    tree: exp.Anonymous,
) -> Expr:
    assert binder.aggregates is not None
    written = _taken_apart(tree, name, within, condition)
    return binder.aggregates.add(_checked(_bound(binder, written), written))


def of_pairs(binder: ExpressionBinder, tree: exp.Anonymous, name: str) -> exp.Anonymous:
    """The call with its two arguments as a row: `f(DISTINCT k, v ORDER BY o)` => `f(DISTINCT (k, v) ORDER BY o)`."""
    pairs = tree.copy()
    arguments = list(pairs.expressions)
    order = arguments.pop() if arguments and isinstance(arguments[-1], exp.Order) else None
    arguments += [] if order is None else [order.this]
    distinct = arguments[0] if arguments and isinstance(arguments[0], exp.Distinct) else None
    parts = arguments if distinct is None else [*distinct.expressions, *arguments[1:]]
    if len(parts) != 2:
        inner = ExpressionBinder(binder.context, binder.scope, "aggregate")
        raise no_function(name, [inner.bind(part) for part in parts], position_of(tree))
    pair: exp.Expr = exp.Tuple(expressions=parts)
    pair.meta.update(parts[0].meta)
    if distinct is not None:
        pair = exp.Distinct(expressions=[pair])
    if order is not None:
        order.set("this", pair)
        pair = order
    pairs.set("expressions", [pair])
    return pairs


def _added_up(binder: ExpressionBinder, tree: exp.Anonymous, condition: exp.Expr | None) -> AggregateCall:
    """The sum that sum0 makes of nothing 0."""
    written = _taken_apart(tree, "sum0", None, condition)
    call = _checked(_bound(binder, written), written)
    return replace(call, function="sum", type=numeric_result(NumericRule.SUM, (call.args[0].type,)))


def _of_the_query_around(binder: ExpressionBinder, call: exp.Expr) -> Expr | None:
    """In a subquery, a call all of whose columns are of the query around: that query's aggregate."""
    outer = binder.context.outer
    if outer is None or isinstance(outer, CallArguments):
        return None
    while isinstance(call.parent, exp.Filter | exp.WithinGroup) and call.parent.this is call:
        call = call.parent
    columns = [column for column in call.find_all(exp.Column) if not isinstance(column.this, exp.Star)]
    if not columns or any(binder.has_column(column) for column in columns):
        return None
    return outer.reference(outer.binder.outer_aggregate(call))


def _taken_apart(
    tree: exp.Anonymous, name: str, within: Sequence[exp.Ordered] | None, condition: exp.Expr | None
) -> WrittenCall:
    arguments = list(tree.expressions)
    order: Sequence[exp.Ordered] = ()
    if arguments and isinstance(arguments[-1], exp.Order):  # the parser hangs it on the last argument
        order = arguments[-1].expressions
        arguments[-1] = arguments[-1].this
    distinct = bool(arguments) and isinstance(arguments[0], exp.Distinct)
    if distinct:
        arguments = [*arguments[0].expressions, *arguments[1:]]
    written = WrittenCall(name, position_of(tree), arguments, distinct, order, within, condition)
    _check_within(written)
    return written


def _check_within(written: WrittenCall) -> None:
    name, position = written.name, written.position
    if name in ORDERED_SET:
        if written.within is None:
            message = f"WITHIN GROUP is required for ordered-set aggregate {name}"
            raise SqlError(message, sqlstate=_WRONG_KIND, position=position)
        if written.distinct:
            raise FeatureNotSupported("cannot use DISTINCT with WITHIN GROUP", position=position)
        if written.order:
            raise FeatureNotSupported("cannot use multiple ORDER BY clauses with WITHIN GROUP", position=position)
    elif written.within is not None:
        message = f"{name} is not an ordered-set aggregate, so it cannot have WITHIN GROUP"
        raise SqlError(message, sqlstate=_WRONG_KIND, position=position)


def _bound(binder: ExpressionBinder, written: WrittenCall) -> AggregateCall:
    inner = ExpressionBinder(binder.context, binder.scope, "aggregate")
    args = _arguments(inner, written)
    ordered = written.order
    if written.within is not None:
        args = [*args, *(inner.bind(key.this) for key in written.within)]
        ordered = written.within
    condition = None
    if written.condition is not None:
        condition = ExpressionBinder(binder.context, binder.scope, "FILTER").condition(written.condition, "FILTER")
    coercer = binder.context.coercer
    if written.name in AGGREGATES:
        name, position = written.name, written.position
        call = make_aggregate(coercer, name, args, position, distinct=written.distinct, condition=condition)
    else:
        call = _users_aggregate(binder, written, args, condition)
    if written.within is not None:
        keys = call.args[len(call.args) - len(written.within) :]
    else:
        keys = tuple(where_counted(inner.settled(key.this), condition) for key in ordered)
    order = tuple(
        OrderKey(expr, bool(key.args.get("desc")), bool(key.args.get("nulls_first")))
        for expr, key in zip(keys, ordered, strict=True)
    )
    return replace(call, order_by=order)


def _users_aggregate(
    binder: ExpressionBinder, written: WrittenCall, args: Sequence[Operand], condition: Expr | None
) -> AggregateCall:
    """A call of CREATE AGGREGATE's; what it carries says whether rows can be taken back from its state."""
    function, exprs = chosen_function(binder, None, written.name, args, written.position)
    if function.kind is not FunctionKind.AGGREGATE:
        raise no_function(written.name, args, written.position)
    types = (*function.argument_types, function.result)
    if any(without_enums(type_) != type_ for type_ in types):
        raise FeatureNotSupported(f"aggregate {function.shown} of an enum is not supported", position=written.position)
    text = definition_text(function)
    given = tuple(where_counted(expr, condition) for expr in exprs)
    return AggregateCall(PYTHON_AGGREGATE, given, function.result, written.distinct, condition, definition=text)


def _arguments(inner: ExpressionBinder, written: WrittenCall) -> list[Operand]:
    name, position = written.name, written.position
    if len(written.arguments) == 1 and is_star(written.arguments[0]):
        if name != "count":
            raise no_function(name, [], position)
        if written.distinct:
            raise SqlError("DISTINCT * is not supported", sqlstate="42601", position=position)
        return []
    if not written.arguments and written.within is None:
        message = f"{name}(*) must be used to call a parameterless aggregate function"
        raise SqlError(message, sqlstate=_WRONG_KIND, position=position)
    return [inner.bind(argument) for argument in written.arguments]


def _checked(call: AggregateCall, written: WrittenCall) -> AggregateCall:
    """The call in its plainest form: without an order that changes nothing, and by what it means to compute."""
    if call.distinct:
        missing = next((k for k, key in enumerate(call.order_by) if key.expr not in call.args), None)
        if missing is not None:
            message = "in an aggregate with DISTINCT, ORDER BY expressions must appear in argument list"
            raise SqlError(message, sqlstate="42P10", position=begin_of(written.order[missing]))
        call = _wholly_ordered(call)
    if written.name in _EXTREME_OF_ANOTHER:
        return _first_by(call, descending=_EXTREME_OF_ANOTHER[written.name])
    if call.function == "regr_count":  # of the pairs without NULL
        return pair_count(call, written.position)
    if written.name == "approx_percentile":
        return _exact_percentile(call, written)
    if written.name == "approx_count_distinct":
        return replace(call, distinct=True, order_by=())
    if call.function not in _BY_ORDER | ORDERED_SET:
        return replace(call, order_by=())
    if call.function in ("first_value", "last_value"):  # the same with and without duplicates
        return replace(call, distinct=False)
    return call


def _exact_percentile(call: AggregateCall, written: WrittenCall) -> AggregateCall:
    """Exact, whatever relative error the second argument allows."""
    match call.args:
        case (_, Literal(float(error)), _) if 0 < error < 1:
            pass
        case (_, _, _):
            message = "relative_error of approx_percentile must be a constant between 0 and 1"
            raise InvalidParameterValue(message, position=written.position)
    return replace(call, args=(call.args[0], call.args[-1]))


def _wholly_ordered(call: AggregateCall) -> AggregateCall:
    """DISTINCT's own order, by all arguments, behind the given one: as PostgreSQL, which sorts to find duplicates."""
    given = {key.expr for key in call.order_by}
    descending = bool(call.order_by) and call.order_by[-1].descending
    nulls_first = bool(call.order_by) and call.order_by[-1].nulls_first
    rest = tuple(OrderKey(arg, descending, nulls_first) for arg in call.args if arg not in given)
    return replace(call, order_by=call.order_by + rest)


def _first_by(call: AggregateCall, *, descending: bool) -> AggregateCall:
    """arg_min(x, y ORDER BY z) is the first x in the order of y, z, of the rows where neither x nor y is NULL."""
    value, compared = call.args
    condition = _present(call)
    order = (OrderKey(compared, descending, nulls_first=False), *call.order_by)
    return replace(call, function="first_value", args=(value,), filter=condition, order_by=order, distinct=False)


def pair_count(call: AggregateCall, position: int) -> AggregateCall:
    """regr_count: how many rows have neither argument NULL."""
    if call.distinct:
        raise FeatureNotSupported("regr_count(DISTINCT …) is not supported", position=position)
    return replace(call, function="count", args=(), filter=_present(call), order_by=())


def _present(call: AggregateCall) -> Expr | None:
    """The call's condition, and that none of its arguments is NULL."""
    condition = call.filter
    for arg in call.args:
        present: Expr = Call("is_not_null", (arg,), BOOLEAN)
        condition = present if condition is None else Call("and", (condition, present), BOOLEAN)
    return condition


def bind_grouping(binder: ExpressionBinder, tree: exp.Anonymous) -> Expr:
    """GROUPING(a, b): which of the expressions the row's grouping set has not, as a number of bits.

    In a subquery it may be of the groups of a query around, whose columns its arguments are then. As in PostgreSQL,
    expressions of such columns are no arguments there.
    """
    position, args = position_of(tree), tree.expressions
    outside = _of_the_query_around(binder, tree)
    if outside is not None:
        computed = next((arg for arg in args if not isinstance(arg.unnest(), exp.Column)), None)
        if computed is not None:
            raise no_key(begin_of(computed))
        return outside
    if binder.aggregates is None:
        message = f"grouping operations are not allowed in {binder.clause}"
        if binder.clause == "aggregate":
            message = "aggregate function calls cannot be nested"
        raise GroupingError(message, position=position)
    if any(id(part) in binder.sets for part in tree.walk()):
        message = "aggregate function calls cannot contain set-returning function calls"
        raise FeatureNotSupported(message, position=position)
    if not 0 < len(args) <= _MAX_GROUPING_ARGS:
        raise SqlError("GROUPING must have fewer than 32 arguments", sqlstate="54023", position=position)
    binder.aggregates.has_grouping = True
    coercer = binder.context.coercer
    return Call(GROUPING, tuple(coercer.settled(binder.bind(arg)) for arg in args), INTEGER)


def bind_within_group(binder: ExpressionBinder, tree: exp.WithinGroup) -> Expr:
    """An ordered-set aggregate without FILTER."""
    return _modified(binder, tree, None)


def bind_filtered(binder: ExpressionBinder, tree: exp.Filter) -> Expr:
    """An aggregate with FILTER; WITHIN GROUP may stand inside."""
    return _modified(binder, tree.this, tree.expression.this)


def _modified(binder: ExpressionBinder, tree: exp.Expr, condition: exp.Expr | None) -> Expr:
    """A call with WITHIN GROUP, FILTER or both."""
    within = None
    if isinstance(tree, exp.WithinGroup):
        within, tree = tree.expression.expressions, tree.this
    name = name_of(tree.this) if isinstance(tree, exp.Anonymous) else ""
    if isinstance(tree, exp.Anonymous) and (name in AGGREGATES or has_kind(binder, FunctionKind.AGGREGATE, name)):
        return bind_aggregate(binder, tree, name, within=within, condition=condition)
    if within is not None and isinstance(tree, exp.Anonymous) and name in HYPOTHETICAL:
        outside = _of_the_query_around(binder, tree)
        return bind_hypothetical(binder, tree, within, condition) if outside is None else outside
    if name in SCALARS:
        word = "FILTER" if within is None else "WITHIN GROUP"
        message = f"{word} specified, but {name} is not an aggregate function"
        raise SqlError(message, sqlstate=_WRONG_KIND, position=position_of(tree))
    return binder.bind(tree).expr
