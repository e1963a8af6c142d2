"""OVER and WINDOW: from sqlglot's trees to bound windows and window calls, with PostgreSQL's checks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from risingpy.errors import FeatureNotSupported, GroupingError, SqlError, WindowError
from risingpy.frontend.binder.expressions.expression_binder import ExpressionBinder
from risingpy.frontend.binder.functions.aggregate_calls import ORDERED_SET, of_pairs, pair_count
from risingpy.frontend.binder.functions.frames import bind_frame
from risingpy.frontend.binder.functions.json_names import as_json, of_json
from risingpy.frontend.binder.functions.multiranges import RANGE_AGGREGATES, ranges_together
from risingpy.frontend.binder.functions.session_gaps import bind_sessions
from risingpy.frontend.binder.functions.user_defined import has_kind
from risingpy.frontend.binder.scope.aggregates import make_aggregate
from risingpy.frontend.binder.scope.sessions import WindowSessions
from risingpy.frontend.binder.scope.stars import is_star
from risingpy.frontend.binder.scope.windows import BoundCall, BoundWindow, OrderItem, WindowCalls, no_window
from risingpy.frontend.binder.trees import begin_of, name_of, position_of
from risingpy.frontend.binder.typing.coercion import Operand
from risingpy.frontend.binder.typing.overloads import NoMatch, resolve
from risingpy.frontend.binder.typing.signature_calls import no_function
from risingpy.frontend.parser.dialect import SESSION_GAP
from risingpy.functions.numeric_results import NumericRule, numeric_result
from risingpy.functions.signatures import AGGREGATES, SCALARS, WINDOW_FUNCTIONS
from risingpy.plan.catalog import FunctionKind
from risingpy.plan.expressions import Call, Cast, Expr, Literal
from risingpy.plan.window_calls import VALUE_FUNCTIONS, WHOLE_PARTITION, WINDOW_AGGREGATES, Frame
from risingpy.types import BIGINT, BYTEA, VARCHAR, TypeKind

_COMPUTED_BY = dict.fromkeys({"jsonb_agg", "jsonb_object_agg", *RANGE_AGGREGATES}, "array_agg")
IGNORES_NULLS = "ignores nulls"  # meta key of a window call that was bound, whose last argument said so
_HEX = Literal("hex", VARCHAR)
_IGNORES_NULLS = VALUE_FUNCTIONS | {"lag", "lead"}


def definitions_of(tree: exp.Select) -> dict[str, exp.Window]:
    """The windows that the WINDOW clause names."""
    found: dict[str, exp.Window] = {}
    for window in tree.args.get("windows") or ():
        name = name_of(window.this)
        if name in found:
            raise WindowError(f'window "{name}" is already defined', position=begin_of(window))
        found[name] = window
    return found


def check_definitions(binder: ExpressionBinder, windows: WindowCalls) -> None:
    """Binds every named window: one that no call uses must be right too."""
    for window in windows.definitions.values():
        _window(binder, window, windows)


def bind_over(binder: ExpressionBinder, tree: exp.Window) -> Expr:
    """A reference to the column that the window will compute; `binder.windows` holds the call.

    Raises 42P20 where windows may not stand, such as in WHERE. Raises 0A000 for IGNORE NULLS where it has no meaning.
    """
    function, written, ignore_nulls = _function_of(tree)
    name = of_json(binder, written) or written
    position = position_of(function)
    if binder.windows is None:
        _refuse(binder, position)
    assert binder.windows is not None
    condition = tree.this.expression.this if isinstance(tree.this, exp.Filter) else None
    window = _window(binder, tree, binder.windows)
    inner = ExpressionBinder(binder.context, binder.scope, "window", binder.aggregates)
    if name == "jsonb_object_agg":
        function = of_pairs(binder, function, name)
    call = _call(binder, inner, function, _COMPUTED_BY.get(name, name), condition)
    if ignore_nulls and call.function not in _IGNORES_NULLS:
        raise FeatureNotSupported(f"IGNORE NULLS of {name} is not supported", position=position)
    joins_bytes = call.function == "string_agg" and call.type.kind is TypeKind.BYTEA
    if joins_bytes:
        call = replace(call, args=tuple(map(_digits_of, call.args)), type=VARCHAR)
    made = binder.windows.add(replace(call, window=window, ignore_nulls=ignore_nulls))
    result = _bytes_of(made) if joins_bytes else _finished(binder, name, Operand(made, position))
    return result if name == written else as_json(written, result)


def _digits_of(value: Expr) -> Expr:
    """The hexadecimal digits of bytes: windows join texts."""
    return Call("encode", (value, _HEX), VARCHAR)


def _bytes_of(digits: Expr) -> Expr:
    return Call("decode", (digits, _HEX), BYTEA)


def _finished(binder: ExpressionBinder, name: str, made: Operand) -> Expr:
    """The function's result, out of what is computed over the window."""
    match name:
        case "sum0":
            zero = Operand(Literal(0, BIGINT), made.position)
            return Cast(binder.calls.form("COALESCE", [made, zero], "COALESCE"), BIGINT)
        case "jsonb_agg":
            return binder.calls.function("to_jsonb", [made], made.position)
        case "jsonb_object_agg":
            return binder.calls.form("JSONB_OBJECT_OF_PAIRS", [made], name)
    if name in RANGE_AGGREGATES:
        return ranges_together(binder, name, made.expr, made.position)
    return made.expr


def _refuse(binder: ExpressionBinder, position: int) -> None:
    match binder.clause:
        case "window":
            raise WindowError("window function calls cannot be nested", position=position)
        case "aggregate":
            raise GroupingError("aggregate function calls cannot contain window function calls", position=position)
        case clause:
            raise no_window(clause, position)


def _function_of(tree: exp.Window) -> tuple[exp.Anonymous, str, bool]:
    """The call under FILTER and IGNORE NULLS, its name, and whether NULLs are ignored."""
    node, ignore_nulls = tree.this, False
    while isinstance(node, exp.Filter | exp.IgnoreNulls | exp.RespectNulls | exp.Dot):
        ignore_nulls = ignore_nulls or isinstance(node, exp.IgnoreNulls)
        node = node.expression if isinstance(node, exp.Dot) else node.this
    if isinstance(node, exp.WithinGroup):
        name = name_of(node.this.this)
        message = f"OVER is not supported for ordered-set aggregate {name}"
        raise FeatureNotSupported(message, position=position_of(node.this))
    if not isinstance(node, exp.Anonymous):
        raise FeatureNotSupported(f"OVER after {node.key.upper()} is not supported", position=begin_of(node))
    last = node.expressions[-1] if node.expressions else None
    if isinstance(last, exp.IgnoreNulls | exp.RespectNulls):  # as RisingWave writes it: `first_value(a IGNORE NULLS)`
        tree.meta[IGNORES_NULLS] = isinstance(last, exp.IgnoreNulls)
        node.set("expressions", [*node.expressions[:-1], last.this])
    return node, name_of(node.this), ignore_nulls or bool(tree.meta.get(IGNORES_NULLS))


def _call(
    binder: ExpressionBinder, inner: ExpressionBinder, tree: exp.Anonymous, name: str, condition: exp.Expr | None
) -> BoundCall:
    position = position_of(tree)
    arguments = list(tree.expressions)
    if name not in AGGREGATES and name not in WINDOW_FUNCTIONS:
        if name in SCALARS:
            message = f"OVER specified, but {name} is not a window function nor an aggregate function"
            raise SqlError(message, sqlstate="42809", position=position)
        if has_kind(binder, FunctionKind.AGGREGATE, name):
            raise FeatureNotSupported(f"{name} over a window is not supported", position=position)
        raise no_function(name, [inner.bind(argument) for argument in arguments], position)
    if any(isinstance(argument, exp.Distinct) for argument in arguments):
        raise FeatureNotSupported("DISTINCT is not implemented for window functions", position=position)
    if any(isinstance(argument, exp.Order) for argument in arguments):
        raise FeatureNotSupported("aggregate ORDER BY is not implemented for window functions", position=position)
    if name not in WINDOW_FUNCTIONS:
        return _aggregate(inner, name, arguments, position, condition)
    if condition is not None:
        message = "FILTER is not implemented for non-aggregate window functions"
        raise FeatureNotSupported(message, position=position)
    args = [inner.bind(argument) for argument in arguments]
    try:
        signature = resolve(WINDOW_FUNCTIONS[name], [a.type for a in args], operator=False)
    except NoMatch as no_match:
        raise no_function(name, args, position, ambiguous=no_match.ambiguous) from None
    call = binder.calls.apply(signature, args)
    assert isinstance(call, Call)
    return BoundCall(call.function, call.args, call.type, BoundWindow())


def _aggregate(
    inner: ExpressionBinder, name: str, arguments: Sequence[exp.Expr], position: int, condition: exp.Expr | None
) -> BoundCall:
    args: list[Operand] = []
    if name in ORDERED_SET:
        message = f"WITHIN GROUP is required for ordered-set aggregate {name}"
        raise SqlError(message, sqlstate="42809", position=position)
    if name not in WINDOW_AGGREGATES | {"every", "sum0", "regr_count"}:
        raise FeatureNotSupported(f"{name} over a window is not supported", position=position)
    if len(arguments) != 1 or not is_star(arguments[0]):
        args = [inner.bind(argument) for argument in arguments]
        if not args:
            message = f"{name}(*) must be used to call a parameterless aggregate function"
            raise SqlError(message, sqlstate="42809", position=position)
    elif name != "count":
        raise no_function(name, [], position)
    filtered = None if condition is None else inner.condition(condition, "FILTER")
    made = make_aggregate(inner.context.coercer, name, args, position, distinct=False, condition=filtered)
    if name == "sum0":
        made = replace(made, function="sum", type=numeric_result(NumericRule.SUM, (made.args[0].type,)))
    if name == "regr_count":
        made = pair_count(made, position)
    if name == "approx_count_distinct":
        made = replace(made, function=name)
    return BoundCall(made.function, made.args, made.type, BoundWindow(), made.filter)


def _window(binder: ExpressionBinder, tree: exp.Window, windows: WindowCalls) -> BoundWindow:
    """The window of an OVER clause, or of a WINDOW clause's item, with what it takes over from the one it names."""
    inner = ExpressionBinder(binder.context, binder.scope, "window definitions", binder.aggregates)
    keys = ExpressionBinder(binder.context, binder.scope, "window definitions", binder.aggregates)
    keys.sets = binder.sets
    partition_by = tuple(keys.settled(part) for part in tree.args.get("partition_by") or ())
    order = tree.args.get("order")
    order_by = tuple(_order_item(keys, item) for item in (order.expressions if order is not None else ()))
    spec = tree.args.get("spec")
    base_name = tree.args.get("alias")
    if base_name is None:
        frame, sessions = _rows_seen(inner, tree, partition_by, order_by)
        return BoundWindow(partition_by, order_by, frame, sessions)
    base = _named(binder, name_of(base_name), base_name, windows, before=tree)
    if not partition_by and not order_by and spec is None:
        return base
    name, position = name_of(base_name), begin_of(base_name)
    if partition_by:
        raise WindowError(f'cannot override PARTITION BY clause of window "{name}"', position=position)
    if order_by and base.order_by:
        raise WindowError(f'cannot override ORDER BY clause of window "{name}"', position=position)
    if windows.definitions[name].args.get("spec") is not None or base.sessions is not None:
        message = f'cannot copy window "{name}" because it has a frame clause'
        raise WindowError(message, position=position)
    order_by = order_by or base.order_by
    frame, sessions = _rows_seen(inner, tree, base.partition_by, order_by)
    return BoundWindow(base.partition_by, order_by, frame, sessions)


def _rows_seen(
    inner: ExpressionBinder, tree: exp.Window, partition_by: tuple[Expr, ...], order_by: Sequence[OrderItem]
) -> tuple[Frame, WindowSessions | None]:
    """The frame that the window says, or the sessions whose rows are its frame."""
    order = tree.args.get("order")
    gap = None if order is None else order.args.get(SESSION_GAP)
    if gap is None:
        return bind_frame(inner, tree.args.get("spec"), order_by), None
    return WHOLE_PARTITION, bind_sessions(inner, gap, partition_by, order_by)


def _named(
    binder: ExpressionBinder, name: str, tree: exp.Expr, windows: WindowCalls, *, before: exp.Window
) -> BoundWindow:
    """A window of the WINDOW clause. An item there sees only those before it."""
    known = list(windows.definitions)
    visible = known
    for position, definition in enumerate(windows.definitions.values()):
        if definition is before:
            visible = known[:position]
    if name not in visible:
        raise SqlError(f'window "{name}" does not exist', sqlstate="42704", position=begin_of(tree))
    return _window(binder, windows.definitions[name], windows)


def _order_item(inner: ExpressionBinder, ordered: exp.Ordered) -> OrderItem:
    return OrderItem(inner.settled(ordered.this), bool(ordered.args.get("desc")), bool(ordered.args.get("nulls_first")))
