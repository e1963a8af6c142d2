"""Calls of functions, aggregates and window functions as nodes, with the casts that PostgreSQL makes of arguments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from risingpy.frontend.binder.functions.array_query import is_array_query
from risingpy.frontend.binder.functions.hypothetical import HYPOTHETICAL
from risingpy.frontend.binder.functions.window_calls import IGNORES_NULLS
from risingpy.frontend.binder.scope.aggregates import GROUPING
from risingpy.frontend.binder.trees import name_of
from risingpy.frontend.deparse import types_shown
from risingpy.frontend.deparse.conversion import Conversion, Convert
from risingpy.frontend.deparse.nodes import (
    Called,
    Element,
    Listed,
    Nested,
    Node,
    Operation,
    Order,
    PrintedConstant,
    Spelled,
    WindowText,
)
from risingpy.frontend.deparse.notes import Unprinted
from risingpy.frontend.deparse.operands import Typed, as_type, common, settled
from risingpy.frontend.parser.dialect import SESSION_GAP
from risingpy.frontend.parser.function_parser import SPELLING
from risingpy.functions.signatures import AGGREGATES, WINDOW_FUNCTIONS
from risingpy.functions.topics.texts.text import quote_ident
from risingpy.plan.expressions import Call, Cast, Expr
from risingpy.types import BIGINT, DOUBLE, INTERVAL, SqlType, TypeKind
from risingpy.types.system_types import NAME, TEXT

_WORDS = frozenset({"current_date", "current_timestamp", "localtimestamp"})
_OF_COMMON_TYPE = ("coalesce", "greatest", "least")
_OF_SESSIONS = frozenset({"current_user", "session_user", "user", "current_role", "current_catalog", "current_schema"})
# Which take arguments of any type as they are.
_ANY = frozenset(
    """
    array_agg array_append array_cat array_length array_position array_positions array_prepend array_remove
    array_replace array_to_json array_to_string array_upper array_lower array_ndims cardinality concat concat_ws count
    first_value format json_agg json_build_array json_build_object json_object_agg jsonb_agg jsonb_build_array
    jsonb_build_object jsonb_object_agg lag last_value lead mode nth_value num_nonnulls num_nulls percentile_disc
    row_to_json to_json to_jsonb unnest
    """.split()  # noqa: SIM905 - a page of words reads better than a page of quotes
)


def _function(self: Conversion, tree: exp.Anonymous) -> Typed:
    return _call(self, tree, None)


def _qualified(self: Conversion, tree: exp.Dot) -> Typed:
    if isinstance(tree.expression, exp.Identifier):
        member = _member(self, tree.this.unnest(), name_of(tree.expression))
        if member is not None:
            return member
        field = f".{quote_ident(name_of(tree.expression))}"
        bound = self.notes.expr(tree)
        return Typed(Element(self.node(tree.this), (field,), is_field=True), types_shown.text_of(bound.type))
    if not isinstance(tree.this, exp.Identifier) or not isinstance(tree.expression, exp.Anonymous):
        raise Unprinted("a field of a row")
    schema = name_of(tree.this)
    return _call(self, tree.expression, None if schema == "pg_catalog" else schema, noted=tree)


def _member(self: Conversion, row: exp.Expr, name: str) -> Typed | None:
    """`(t).a` of a row of a relation, whose column may have another name; None of other rows."""
    noted = self.notes.column(row) if isinstance(row, exp.Column) else None
    part = None if noted is None else next((each for each in noted.column.parts if each.name == name), None)
    if noted is None or part is None:
        return None
    column, sql_type = self.around.column(replace(noted, column=part))
    return Typed(Element(self.node(row), (f".{quote_ident(column.column)}",), is_field=True), sql_type)


def _call(self: Conversion, tree: exp.Anonymous, schema: str | None, noted: exp.Expr | None = None) -> Typed:
    name = name_of(tree.this)
    bound = self.notes.expr(tree if noted is None else noted)
    if schema is None and name in AGGREGATES:
        return _aggregate(self, tree, bound)
    if is_array_query(tree):
        return Typed(Nested(tree.expressions[0], "ARRAY"), types_shown.text_of(bound.type))
    if (name in _WORDS and not tree.expressions) or (name in _OF_SESSIONS and SPELLING in tree.meta):
        return Typed(Spelled((name.upper(),)), bound.type)
    if any(isinstance(a, exp.Distinct | exp.Order | exp.Kwarg) for a in tree.expressions):
        raise Unprinted(name)
    args = [self.typed(argument) for argument in tree.expressions]
    if name == GROUPING:
        return Typed(Listed("GROUPING(", tuple(settled(arg).node for arg in args), ")"), bound.type)
    if name == "row":
        return Typed(Listed("ROW(", tuple(settled(arg).node for arg in args), ")"), bound.type)
    if name in _OF_COMMON_TYPE:
        result = common(args, bound.type)
        return Typed(Listed(f"{name.upper()}(", tuple(as_type(arg, result) for arg in args), ")"), result)
    if name == "nullif":
        compared = self.operation("=", args, bound, bound.type).node
        assert isinstance(compared, Operation)
        return Typed(Listed("NULLIF(", compared.args, ")"), args[0].type)
    nodes = tuple(_argument(name, arg, wanted) for arg, wanted in zip(args, _wanted(bound, args), strict=True))
    result = _result(bound, args)
    if SPELLING in tree.meta:
        return Typed(Spelled(_spelling(str(tree.meta[SPELLING]), nodes)), result)
    return Typed(Called(self.around.function_name(schema, name), nodes), result)


def _spelling(words: str, args: Sequence[Node]) -> tuple[str | Node, ...]:
    """A call in SQL's own syntax, as PostgreSQL prints one that was written so."""
    match words, args:
        case "POSITION", (text, needle):
            return "POSITION((", needle, ") IN (", text, "))"
        case "SUBSTRING", (text, start):
            return "SUBSTRING(", text, " FROM ", start, ")"
        case "SUBSTRING", (text, start, length):
            return "SUBSTRING(", text, " FROM ", start, " FOR ", length, ")"
        case "OVERLAY", (text, new, start):
            return "OVERLAY(", text, " PLACING ", new, " FROM ", start, ")"
        case "OVERLAY", (text, new, start, length):
            return "OVERLAY(", text, " PLACING ", new, " FROM ", start, " FOR ", length, ")"
        case _, (text,):
            return f"{words} FROM ", text, ")"
        case _, (text, characters):
            return f"{words} ", characters, " FROM ", text, ")"
    raise Unprinted(words)


def _wanted(bound: Expr, args: Sequence[Typed]) -> list[SqlType | None]:
    """The types of the parameters, where the call that was bound says them."""
    while isinstance(bound, Cast):
        bound = bound.arg
    if not isinstance(bound, Call) or len(bound.args) < len(args):
        return [None] * len(args)
    return [bound.args[place].type for place in range(len(args))]


def _argument(name: str, arg: Typed, wanted: SqlType | None) -> Node:
    if arg.is_unknown:
        return as_type(arg, TEXT if wanted is None else types_shown.text_of(wanted))
    if types_shown.is_varchar(types_shown.plain(arg.type)) or arg.type == NAME:
        return arg.node if name in _ANY else as_type(arg, TEXT)
    if wanted is None or name in _ANY or wanted.kind is arg.type.kind:
        return arg.node
    if (wanted.is_integer and arg.type.is_integer) or not (wanted.is_numeric or _is_time(wanted)):
        return arg.node
    return as_type(arg, wanted)


def _is_time(sql_type: SqlType) -> bool:
    return sql_type.kind in (TypeKind.TIMESTAMP, TypeKind.TIMESTAMPTZ, TypeKind.TIMESTAMP_NS)


def _result(bound: Expr, args: Sequence[Typed]) -> SqlType:
    """What the call gives; of an array of varchar, its element is one."""
    same = next((arg.type for arg in args if not arg.is_unknown and arg.type == bound.type), None)
    return types_shown.text_of(bound.type) if same is None or bound.type.kind is TypeKind.VARCHAR else same


# -- aggregates ---------------------------------------------------------------------------------------------------


def _aggregate(
    self: Conversion,
    tree: exp.Anonymous,
    bound: Expr,
    within: Sequence[exp.Ordered] = (),
    condition: exp.Expr | None = None,
) -> Typed:
    called, result = _taken_apart(self, tree, bound)
    keys = [_order(self, key) for key in within]
    if name_of(tree.this) == "percentile_cont":
        keys = [
            Order(_as_double(self, key.this), o.descending, o.nulls_first) for key, o in zip(within, keys, strict=True)
        ]
    if name_of(tree.this) in HYPOTHETICAL:
        given = [self.typed(argument) for argument in tree.expressions]
        wanted = [self.typed(key.this).type for key in within]
        args = tuple(as_type(arg, types_shown.text_of(want)) for arg, want in zip(given, wanted, strict=True))
        called = replace(called, args=args)
    filtered = None if condition is None else self.condition(condition)
    made = Called(called.name, called.args, called.distinct, called.order_by, tuple(keys), filtered, is_aggregate=True)
    return Typed(made, result)


def _as_double(self: Conversion, tree: exp.Expr) -> Node:
    operand = self.typed(tree)
    return as_type(operand, operand.type if operand.type.kind is TypeKind.INTERVAL else DOUBLE)


def _taken_apart(self: Conversion, tree: exp.Anonymous, bound: Expr) -> tuple[Called, SqlType]:
    name = name_of(tree.this)
    arguments = list(tree.expressions)
    order: Sequence[exp.Ordered] = ()
    if arguments and isinstance(arguments[-1], exp.Order):
        order = arguments[-1].expressions
        arguments[-1] = arguments[-1].this
    distinct = bool(arguments) and isinstance(arguments[0], exp.Distinct)
    if distinct:
        arguments = [*arguments[0].expressions, *arguments[1:]]
    shown = self.around.function_name(None, name)
    if len(arguments) == 1 and isinstance(arguments[0], exp.Star):
        return Called(shown, None), BIGINT
    args = [self.typed(argument) for argument in arguments]
    wanted: list[SqlType | None] = [DOUBLE if name.startswith("percentile") else None] * len(args)
    if name == "string_agg" and len(args) == 2:
        wanted[1] = args[0].type
    if name in ("lag", "lead") and len(args) == 3:
        wanted[2] = args[0].type
    nodes = tuple(_argument(name, arg, want) for arg, want in zip(args, wanted, strict=True))
    keys = tuple(_order(self, key) for key in order)
    return Called(shown, nodes, distinct, keys), types_shown.text_of(bound.type)


def _order(self: Conversion, key: exp.Ordered) -> Order:
    return Order(self.node(key.this), bool(key.args.get("desc")), bool(key.args.get("nulls_first")))


def _modified(self: Conversion, tree: exp.Expr) -> Typed:
    """A call with WITHIN GROUP, FILTER or both."""
    bound, condition, within = self.notes.expr(tree), None, ()
    if isinstance(tree, exp.Filter):
        condition, tree = tree.expression.this, tree.this
    if isinstance(tree, exp.WithinGroup):
        within, tree = tree.expression.expressions, tree.this
    if not isinstance(tree, exp.Anonymous) or name_of(tree.this) not in (*AGGREGATES, *HYPOTHETICAL):
        raise Unprinted("FILTER")
    return _aggregate(self, tree, bound, within, condition)


# -- windows ------------------------------------------------------------------------------------------------------


def _over(self: Conversion, tree: exp.Window) -> Typed:
    bound, call, condition = self.notes.expr(tree), tree.this, None
    ignores_nulls = False
    while isinstance(call, exp.Filter | exp.IgnoreNulls | exp.RespectNulls | exp.Dot):
        if isinstance(call, exp.Filter):
            condition = self.condition(call.expression.this)
        ignores_nulls = ignores_nulls or isinstance(call, exp.IgnoreNulls)
        call = call.expression if isinstance(call, exp.Dot) else call.this
    ignores_nulls = ignores_nulls or bool(tree.meta.get(IGNORES_NULLS))
    if not isinstance(call, exp.Anonymous) or name_of(call.this) not in {*AGGREGATES, *WINDOW_FUNCTIONS}:
        raise Unprinted("OVER")
    called, result = _taken_apart(self, call, bound)
    over: WindowText | str = window_text(self, tree)
    if over == WindowText(base=name_of(tree.args.get("alias"))) and over.base:
        over = over.base
    made = Called(called.name, called.args, condition=condition, over=over, ignores_nulls=ignores_nulls)
    return Typed(made, result)


def window_text(self: Conversion, tree: exp.Window) -> WindowText:
    """A window, of OVER or of the WINDOW clause."""
    order = tree.args.get("order")
    gap = None if order is None else order.args.get(SESSION_GAP)
    return WindowText(
        tuple(self.node(part) for part in tree.args.get("partition_by") or ()),
        tuple(_order(self, key) for key in (order.expressions if order is not None else ())),
        _frame(self, tree.args.get("spec")),
        name_of(tree.args.get("alias")),
        None if gap is None else _gap(self, gap),
    )


def _gap(self: Conversion, tree: exp.Expr) -> Node:
    """The gap of RisingWave's sessions, which is no text even if it is written as one."""
    operand = self.typed(tree)
    return as_type(operand, INTERVAL) if operand.is_unknown else operand.node


def _frame(self: Conversion, spec: exp.WindowSpec | None) -> str:
    if spec is None:
        return ""
    kind = str(spec.args["kind"]).upper()
    start = _frame_bound(self, spec.args.get("start"), spec.args.get("start_side"), kind)
    end = spec.args.get("end")
    text = f"{kind} "
    if end is None:
        text += start
    else:
        text += f"BETWEEN {start} AND {_frame_bound(self, end, spec.args.get('end_side'), kind)}"
    exclude = spec.args.get("exclude")
    return text if exclude is None else f"{text} EXCLUDE {exclude.name.upper()}"


def _frame_bound(self: Conversion, given: exp.Expr | str | None, side: str | None, kind: str) -> str:
    if isinstance(given, str):
        return given.upper() if given.upper() == "CURRENT ROW" else f"{given.upper()} {(side or '').upper()}"
    assert given is not None
    operand = self.typed(given)
    if operand.is_unknown:
        counted = INTERVAL if kind == "RANGE" else BIGINT
        operand = Typed(as_type(operand, counted), counted)
    if not isinstance(operand.node, PrintedConstant):
        raise Unprinted("a frame's bound")
    label = "" if operand.node.label is None else f"::{operand.node.label}"
    return f"{operand.node.text}{label} {(side or '').upper()}"


CALLS: dict[type[exp.Expr], Convert] = {
    exp.Anonymous: _function,
    exp.Dot: _qualified,
    exp.Filter: _modified,
    exp.WithinGroup: _modified,
    exp.Window: _over,
}
