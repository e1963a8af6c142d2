"""Arrays, rows and maps in expressions: constructors, subscripts, fields, and comparisons with all of an array.

    ARRAY[1, 2]          array(1, 2)              a[2]         subscript(a, 2)
    ROW(1, 'x')          row(1, 'x')              (r).f        field(r, 'f')
    x = ANY (ARRAY[1])   x IN (1)                 x < ALL (a)  all_lt(x, a)

A constructor of constants is a constant.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from risingpy.errors import (
    CannotCoerce,
    DatatypeMismatch,
    FeatureNotSupported,
    SqlError,
    StatementTooComplex,
    UndefinedColumn,
)
from risingpy.frontend.binder.column_limits import check_row
from risingpy.frontend.binder.expressions.expression_binder import ExpressionBinder
from risingpy.frontend.binder.scope.stars import is_star
from risingpy.frontend.binder.trees import name_of, position_of
from risingpy.frontend.binder.typing.coercion import Context, Operand, can_coerce
from risingpy.frontend.parser.nested_parser import MapConstructor, Subscript
from risingpy.nesting import MAX_TYPE_NESTING
from risingpy.plan.expressions import Call, Case, Cast, Expr, Literal
from risingpy.types import BOOLEAN, INTEGER, JSONB, UNKNOWN, VARCHAR, SqlType, TypeKind, array_of, map_of, struct_of
from risingpy.types.system_types import CHAR, NAME, TEXT, is_vector

_MAX_SUBSCRIPT = 2**31 - 1


def bind_array(binder: ExpressionBinder, tree: exp.Array) -> Expr:
    """ARRAY[…] of its items' common type. Raises 42P18 for an empty one, whose type only a cast around it says."""
    items = [binder.bind(item) for item in tree.expressions]
    if not items:
        message = "cannot determine type of empty array"
        hint = "Explicitly cast to the desired type, for example ARRAY[]::integer[]."
        raise SqlError(message, sqlstate="42P18", position=position_of(tree), hint=hint)
    exprs, element = binder.context.coercer.to_common_type(items, "ARRAY")
    return constructed("array", exprs, array_of(element))


def _height(type_: SqlType) -> int:
    return 1 + max(map(_height, type_.items), default=0)


def constructed(function: str, exprs: Sequence[Expr], result: SqlType) -> Expr:
    """A call of a constructor; of constants, the constant. Raises StatementTooComplex."""
    if _height(result) > MAX_TYPE_NESTING:
        raise StatementTooComplex
    values = [expr.value for expr in exprs if isinstance(expr, Literal)]
    return Literal(tuple(values), result) if len(values) == len(exprs) else Call(function, tuple(exprs), result)


def bind_row(binder: ExpressionBinder, tree: exp.Tuple) -> Expr:
    """ROW(…) or `(a, b)`: fields have their own types, and no names."""
    return bound_row(binder, row_items(binder, tree.expressions), position_of(tree))


def row_items(binder: ExpressionBinder, trees: Sequence[exp.Expr]) -> list[Operand]:
    """What stands in ROW(…): `t.*` and `(row).*` are several."""
    items = list[Operand]()
    for tree in trees:
        columns = binder.star(tree) if isinstance(tree, exp.Column) else None
        if columns is not None:
            items += [Operand(expr, tree) for _, expr in columns]
        elif isinstance(tree, exp.Dot) and is_star(tree.expression):
            items += [Operand(expr, tree) for _, expr in fields_of(binder, tree)]
        else:
            items.append(binder.bind(tree))
    return items


def bound_row(binder: ExpressionBinder, items: Sequence[Operand], position: int) -> Expr:
    """`ROW(items)`, whose fields are f1, f2, …"""
    check_row(len(items), position)
    exprs = [item.expr for item in items]  # literals stay unknown until something says what they are
    names = [f"f{k}" for k in range(1, len(exprs) + 1)]
    if not exprs:  # of which there is no value in Arrow: `types.sql_type.NO_FIELD`
        return Call("row", (), struct_of([], []))
    return constructed("row", exprs, struct_of(names, [expr.type for expr in exprs]))


def bind_map(binder: ExpressionBinder, tree: MapConstructor) -> Expr:
    """MAP {k: v, …} of common types. Raises 42P18 for an empty one; values that are all NULL stay unknown."""
    position = position_of(tree)
    parts = [binder.bind(item) for item in tree.expressions]
    if not parts:
        hint = "Explicitly cast to the desired type, for example MAP {}::map(varchar,integer)."
        raise SqlError("cannot determine type of empty map", sqlstate="42P18", position=position, hint=hint)
    coercer = binder.context.coercer
    keys, key = coercer.to_common_type(parts[::2], "MAP")
    values, value = coercer.to_common_type(parts[1::2], "MAP")
    check_map_key(key, position)
    if all(part.expr == Literal(None, UNKNOWN) for part in parts[1::2]):  # until something says what they are
        values, value = [part.expr for part in parts[1::2]], UNKNOWN
    pairs = tuple(part for pair in zip(keys, values, strict=True) for part in pair)
    return Call("map", pairs, map_of(key, value))


def check_map_key(key: SqlType, position: int) -> None:
    """RisingWave's rule."""
    if not (key.is_text or key.is_integer):
        raise SqlError(f"invalid map key type: {key}", sqlstate="42804", position=position)


# -- parts of values ----------------------------------------------------------------------------------------------


def bind_subscript(binder: ExpressionBinder, tree: Subscript) -> Expr:
    """An item or a slice of an array, a map's value of a key, or a member of a jsonb.

    An index outside an array, or a key that is missing, gives NULL. Raises DatatypeMismatch (42804) for other types.
    """
    chain = _chain(tree)
    if any(each.args.get("slice") for each in chain):
        part = _sliced(binder, chain)
        if part is not None:
            return part
    value = binder.bind(tree.this)
    kind = value.type.kind
    if kind is TypeKind.MAP:
        value = Operand(binder.context.coercer.settled(value), value.where)
    if kind is TypeKind.MAP and not tree.args.get("slice"):
        key = binder.context.coercer.exactly(binder.bind(tree.args["index"]), value.type.items[0])
        return Call("map_access", (value.expr, key), value.type.items[1])
    if kind is TypeKind.JSONB:
        path = constructed("array", [jsonb_step(binder, tree)[0]], array_of(TEXT))
        return Call("jsonb_at_path", (value.expr, path), JSONB)
    if value.type == NAME and not tree.args.get("slice"):
        return _of_name(binder, tree, value)
    if kind is not TypeKind.ARRAY:
        message = f"cannot subscript type {value.type.name} because it does not support subscripting"
        raise DatatypeMismatch(message, position=value.position)
    if is_vector(value.type):
        return _of_vector(binder, tree, value)
    return Call("subscript", (value.expr, array_bound(binder, tree.args["index"], None)), value.type.element)


def _chain(tree: Subscript) -> list[Subscript]:
    """The subscripts that stand side by side, from the left: of `a[1:2][3]` two."""
    chain = [tree]
    while isinstance(chain[0].this, Subscript):
        chain.insert(0, chain[0].this)
    return chain


def _sliced(binder: ExpressionBinder, chain: Sequence[Subscript]) -> Expr | None:
    """A part of an array in each of its dimensions; None of what is no array.

    Beside a slice, a subscript without a colon is a slice from 1: `a[1:2][3]` is `a[1:2][1:3]`, as in PostgreSQL.
    """
    value = binder.bind(chain[0].this)
    if value.type.kind is not TypeKind.ARRAY or is_vector(value.type):
        return None
    bounds: list[Expr] = []
    for each in chain:
        upper = "upper" if each.args.get("slice") else "index"
        bounds.append(array_bound(binder, each.args.get("lower"), 1))
        bounds.append(array_bound(binder, each.args.get(upper), _MAX_SUBSCRIPT))
    return Call("slice", (value.expr, *bounds), value.type)


def jsonb_step(binder: ExpressionBinder, tree: exp.Expr) -> tuple[Expr, bool]:
    """A subscript of a jsonb as a step of a path, a text, and whether it is an integer. Raises DatatypeMismatch."""
    if tree.args.get("slice"):
        message = "jsonb subscript does not support slices"
        raise DatatypeMismatch(message, position=position_of(tree.args.get("lower") or tree.args.get("upper") or tree))
    index, coercer = binder.bind(tree.args["index"]), binder.context.coercer
    counts = index.type.kind is not TypeKind.UNKNOWN and can_coerce(index.type, INTEGER, Context.IMPLICIT)
    if not counts and not can_coerce(index.type, TEXT, Context.IMPLICIT):
        hint = "jsonb subscript must be coercible to either integer or text."
        message = f"subscript type {index.type.name} is not supported"
        raise DatatypeMismatch(message, position=index.position, hint=hint)
    return coercer.coerce(index, TEXT, Context.EXPLICIT), counts


def _of_vector(binder: ExpressionBinder, tree: Subscript, vector: Operand) -> Expr:
    """The elements of int2vector and oidvector count from 0; a part of one is an array."""
    one = Operand(Literal(1, INTEGER), vector.where)

    def counted(bound: str, default: int) -> Expr:
        index = array_bound(binder, tree.args.get(bound), default)
        return binder.calls.operator("+", [Operand(index, vector.where), one], position_of(tree))

    element = vector.type.element
    if tree.args.get("slice"):
        bounds = counted("lower", 0), counted("upper", _MAX_SUBSCRIPT - 1)
        return Call("slice", (vector.expr, *bounds), array_of(element))
    return Call("subscript", (vector.expr, counted("index", 0)), element)


def _of_name(binder: ExpressionBinder, tree: Subscript, name: Operand) -> Expr:
    """A character of a name, which counts from 0; NULL past the end, as of an array."""
    coercer, one = binder.context.coercer, Operand(Literal(1, INTEGER), name.where)
    index = Operand(array_bound(binder, tree.args["index"], 0), name.where)
    place = binder.calls.operator("+", [index, one], position_of(tree))
    text = coercer.coerce(name, TEXT, Context.EXPLICIT)
    after, end = Call("gt", (place, Literal(0, INTEGER)), BOOLEAN), Call("length", (text,), INTEGER)
    inside = Call("and", (after, Call("le", (place, end), BOOLEAN)), BOOLEAN)
    letter = Operand(Call("substring", (text, place, one.expr), TEXT), name.where)
    return Case(((inside, coercer.coerce(letter, CHAR, Context.EXPLICIT)),), Literal(None, CHAR), CHAR)


def array_bound(binder: ExpressionBinder, tree: exp.Expr | None, default: int | None) -> Expr:
    """A subscript of an array, `default` if it is left out. Raises DatatypeMismatch."""
    if tree is None:
        return Literal(default, INTEGER)
    operand = binder.bind(tree)
    try:
        return binder.context.coercer.coerce(operand, INTEGER, Context.ASSIGNMENT)
    except CannotCoerce:
        raise DatatypeMismatch("array subscript must have type integer", position=operand.position) from None


def field_of(value: Expr, name: str) -> Expr:
    """`(value).name`."""
    index = value.type.names.index(name)
    return Call("field", (value, Literal(name, VARCHAR)), value.type.items[index])


def fields_of(binder: ExpressionBinder, tree: exp.Dot) -> list[tuple[str, Expr]]:
    """`(row).*` in a select list: a column for each field."""
    value = binder.bind(tree.this)
    row = binder.context.coercer.settled(value)
    if row.type.kind is not TypeKind.STRUCT:
        message = f"type {row.type.name} is not composite"
        raise DatatypeMismatch(message, sqlstate="42809", position=value.position)
    return [(name, field_of(row, name)) for name in row.type.names]


def bind_field(binder: ExpressionBinder, tree: exp.Dot) -> Expr:
    """`(row).field`."""
    value = binder.bind(tree.this)
    position = position_of(tree)
    if isinstance(tree.expression, exp.Star):
        raise FeatureNotSupported("row expansion via .* is not supported here", position=position)
    name = name_of(tree.expression)
    value = Operand(binder.context.coercer.settled(value), value.where)
    if value.type.kind is not TypeKind.STRUCT:
        message = f"column notation .{name} applied to type {value.type.name}, which is not a composite type"
        raise DatatypeMismatch(message, sqlstate="42809", position=value.position)
    if name not in value.type.names:
        raise UndefinedColumn(f'column "{name}" not found in data type {value.type}', position=position)
    return field_of(value.expr, name)


# -- comparisons with an array ------------------------------------------------------------------------------------


def compared_with_array(
    binder: ExpressionBinder, symbol: str, operands: tuple[Operand, Operand], word: str, position: int
) -> Expr:
    """`x symbol ANY (array)` or, as `word` says, ALL."""
    left, array = operands
    if array.type.kind is TypeKind.UNKNOWN:
        element_operand = Operand(Literal(None, UNKNOWN), array.where)  # the operator says what the elements are
    elif array.type.kind is TypeKind.ARRAY:
        element_operand = Operand(Cast(Literal(None, UNKNOWN), array.type.element), array.where)
    else:
        message = "op ANY/ALL (array) requires array on right side"
        raise SqlError(message, sqlstate="42809", position=position)
    inner = binder.calls.operator(symbol, [left, element_operand], position)
    if not isinstance(inner, Call) or inner.type != BOOLEAN:
        message = "op ANY/ALL (array) requires operator to yield boolean"
        raise SqlError(message, sqlstate="42809", position=position)
    if inner.function == "not":  # not like some of them is not (like all of them), NULLs included
        (positive,) = inner.args
        assert isinstance(positive, Call)
        return Call("not", (_over_elements(binder, positive, array, "all" if word == "any" else "any"),), BOOLEAN)
    return _over_elements(binder, inner, array, word)


def _over_elements(binder: ExpressionBinder, inner: Call, array: Operand, word: str) -> Expr:
    """`inner`, a comparison with one element, over all of them."""
    wanted = array_of(inner.args[1].type)
    items = array.expr if array.type == wanted else binder.context.coercer.coerce(array, wanted, Context.EXPLICIT)
    if isinstance(items, Literal) and isinstance(items.value, tuple) and items.value:
        listed = tuple(Literal(value, wanted.element) for value in items.value)
        if word == "any" and inner.function == "eq":
            return Call("in", (inner.args[0], *listed), BOOLEAN)
        if word == "all" and inner.function == "ne":
            return Call("not", (Call("in", (inner.args[0], *listed), BOOLEAN),), BOOLEAN)
    return Call(f"{word}_{inner.function}", (inner.args[0], items), BOOLEAN)
