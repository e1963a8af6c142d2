"""Rows and maps made of jsonb objects: by a row's or a map's type, or by column definitions.

    jsonb_populate_record(NULL::struct<a int>, j)  =>  row(CAST(jsonb_object_field_text(j, 'a') AS int))
    jsonb_populate_map(m, j)  =>  map_cat(m, map_from_key_values(keys, values)), those of the object, cast
    FROM jsonb_to_recordset(j) AS r(a int)  =>  ProjectSet(jsonb_to_recordset(j)): a is read of each element

Each member is looked up and cast for a whole chunk at once. A member that is missing is the base row's.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from risingpy.errors import DatatypeMismatch, FeatureNotSupported, SyntaxError_
from risingpy.frontend.binder.expressions.expression_binder import ExpressionBinder
from risingpy.frontend.binder.expressions.nested import field_of
from risingpy.frontend.binder.typing.coercion import Coercer, Context, Operand
from risingpy.frontend.binder.typing.lengths import without_lengths
from risingpy.frontend.binder.typing.signature_calls import no_function
from risingpy.frontend.parser.parser_tools import TYPE_TEXT
from risingpy.plan.expressions import Call, Case, Cast, Expr, Literal
from risingpy.types import BOOLEAN, JSONB, VARCHAR, SqlType, TypeKind, array_of
from risingpy.types.system_types import is_json


def populate_record(binder: ExpressionBinder, name: str, args: list[Operand], position: int) -> Expr:
    """jsonb_populate_record as a value; of no object at all, the base row."""
    base, value = base_and_json(binder, name, args, position)
    row = Call("row", members(binder.context.coercer, root_object(value), base), base.type)
    return Case(((Call("is_null", (value,), BOOLEAN), base),), row, base.type)


def populate_map(binder: ExpressionBinder, name: str, args: list[Operand], position: int) -> Expr:
    """RisingWave's jsonb_populate_map: the base map, with the members of an object added or put in their places."""
    if len(args) != 2 or args[0].type.kind is not TypeKind.MAP:
        raise no_function(name, args, position)
    coercer = binder.context.coercer
    base, value = coercer.settled(args[0]), root_object(json_argument(binder, name, args[1:], position))
    keys, values = map(array_of, base.type.items)
    names = Call("jsonb_each_text_keys", (value,), array_of(VARCHAR))
    texts = Call("jsonb_each_text_values", (value,), array_of(VARCHAR))
    members = _items(coercer, texts, Call("jsonb_record_members", (value,), array_of(JSONB)), values)
    made = Call("map_from_key_values", (names if keys == names.type else Cast(names, keys), members), base.type)
    return Call("map_cat", (base, made), base.type)


def base_and_json(binder: ExpressionBinder, name: str, args: Sequence[Operand], position: int) -> tuple[Expr, Expr]:
    """The row and the jsonb value that a call of the populate functions has."""
    if len(args) != 2:
        raise no_function(name, args, position)
    coercer = binder.context.coercer
    if args[0].type.kind is TypeKind.UNKNOWN:
        message = "could not determine polymorphic type because input has type unknown"
        raise DatatypeMismatch(message, position=position)
    if args[0].type.kind is not TypeKind.STRUCT:
        raise DatatypeMismatch(f"first argument of {name} must be a row type", position=args[0].position)
    return coercer.settled(args[0]), json_argument(binder, name, args[1:], position)


def is_null_record(arguments: Sequence[exp.Expr]) -> bool:
    """Whether the first argument is `NULL::record`: a row of which a column definition list says what is in it."""
    first = arguments[0] if arguments else None
    while isinstance(first, exp.Paren):
        first = first.this
    if not isinstance(first, exp.Cast) or not isinstance(first.this, exp.Null):
        return False
    return str(first.to.meta[TYPE_TEXT]).replace(" ", "").lower() in ("record", "pg_catalog.record")


def defined_names(row: SqlType, definitions: SqlType, position: int) -> tuple[str, ...]:
    """The names that definitions give to the columns of a row without names of its own.

    Raises 42601 where the row has names, and 42804 where its columns are others.
    """
    if row.names != tuple(f"f{k}" for k in range(1, len(row.items) + 1)):
        message = "a column definition list is redundant for a function returning a named composite type"
        raise SyntaxError_(message, position=position)
    if row.items != definitions.items:
        raise DatatypeMismatch("function return row and query-specified return row do not match", position=position)
    return definitions.names


def no_row_type(name: str, position: int) -> FeatureNotSupported:
    """The error, 0A000, of a populate function over `NULL::record` without column definitions."""
    return FeatureNotSupported(f"could not determine row type for result of {name}", position=position)


def no_record_here(position: int) -> FeatureNotSupported:
    """The error, 0A000, of a function that returns record where no column definitions say what is in it."""
    message = "function returning record called in context that cannot accept type record"
    return FeatureNotSupported(message, position=position)


def json_argument(binder: ExpressionBinder, name: str, args: Sequence[Operand], position: int) -> Expr:
    """The only argument left, which is jsonb, or a json as it is written."""
    if len(args) != 1 or args[0].type.kind not in (TypeKind.JSONB, TypeKind.UNKNOWN):
        raise no_function(name, args, position)
    return args[0].expr if is_json(args[0].type) else binder.context.coercer.coerce(args[0], JSONB, Context.IMPLICIT)


def root_object(value: Expr) -> Expr:
    """The value, which must be an object."""
    return of_kind(value, "record", value.type)


def of_kind(value: Expr, function: str, result: SqlType, *rest: Expr) -> Call:
    """The call of `jsonb_function`, or of `json_function` if the value is json."""
    return Call(f"{'json' if is_json(value.type) else 'jsonb'}_{function}", (value, *rest), result)


def members(coercer: Coercer, value: Expr, base: Expr) -> tuple[Expr, ...]:
    """The fields of a row like `base`, read of an object."""
    return tuple(
        _member(coercer, value, name, type_, _base_field(base, k))
        for k, (name, type_) in enumerate(zip(base.type.names, base.type.items, strict=True))
    )


def _base_field(base: Expr, index: int) -> Expr:
    type_ = base.type.items[index]
    match base:
        case Literal(tuple(values)):
            return Literal(values[index], type_)
        case Literal(None):
            return Literal(None, type_)
    return field_of(base, base.type.names[index])


def _member(coercer: Coercer, value: Expr, name: str, type_: SqlType, base: Expr) -> Expr:
    key = Literal(name, VARCHAR)
    read = _read(coercer, value, key, type_, base)
    if base == Literal(None, type_):
        return read
    exists = Call("is_not_null", (of_kind(value, "object_field", value.type, key),), BOOLEAN)
    return Case(((exists, read),), base, type_)


def _array(coercer: Coercer, value: Expr, type_: SqlType) -> Expr:
    """An array of JSON, or the text of one, as the type."""
    texts = of_kind(value, "record_texts", array_of(VARCHAR))
    items = _items(coercer, texts, of_kind(value, "record_values", array_of(value.type)), type_)
    return _or_text(coercer, value, items, type_)


def _items(coercer: Coercer, texts: Expr, values: Expr, type_: SqlType) -> Expr:
    """Values, whose texts are there too, as an array of the type: arrays and rows one by one, by a lambda."""
    element = type_.element
    if element.kind is TypeKind.JSONB:
        return _cast(values, type_)
    if not element.is_nested:
        return _from_text(coercer, texts, type_)
    variable = Literal(f"part{_height(type_)}", VARCHAR)  # another one in each lambda around
    part = Call("lambda_parameter", (variable,), values.type.element)
    match element.kind:
        case TypeKind.ARRAY:
            body = _array(coercer, part, element)
        case TypeKind.STRUCT:
            body = _row(coercer, part, element, Literal(None, element))
        case _:
            raise FeatureNotSupported(f"a column of type {type_} in a row made of jsonb is not supported")
    return Call("array_transform", (values, body, variable), type_)


def _row(coercer: Coercer, value: Expr, type_: SqlType, base: Expr) -> Expr:
    """An object, or the text of a row, as the type."""
    part = of_kind(value, "record_part", value.type)
    row = Call("row", members(coercer, part, base), type_)
    absent = Call("is_null", (part,), BOOLEAN)
    return _or_text(coercer, value, Case(((absent, Literal(None, type_)),), row, type_), type_)


def _or_text(coercer: Coercer, value: Expr, read: Expr, type_: SqlType) -> Expr:
    """What is `read` of a value, or if it is a string, what the type reads of its text."""
    text = of_kind(value, "record_string", VARCHAR)
    return Case(((Call("is_not_null", (text,), BOOLEAN), _from_text(coercer, text, type_)),), read, type_)


def _from_text(coercer: Coercer, text: Expr, type_: SqlType) -> Expr:
    """What the type reads of a text, or an array of each of its texts. One too long is an error, as in a column."""
    if type_.leaf.length is None or not (type_.leaf.is_text or type_.leaf.is_bits):
        return coercer.coerce(Operand(text, 1), type_, Context.EXPLICIT)
    whole = coercer.coerce(Operand(text, 1), without_lengths(type_), Context.EXPLICIT)
    return coercer.assign(Operand(whole, 1), type_)


def _cast(value: Expr, type_: SqlType) -> Expr:
    return value if value.type == type_ else Cast(value, type_)


def _height(type_: SqlType) -> int:
    return 1 + max(map(_height, type_.items), default=0)


def _read(coercer: Coercer, value: Expr, key: Literal, type_: SqlType, base: Expr) -> Expr:
    """A member as a column's type: its text as the type reads texts, NULL of JSON's null."""
    inner = of_kind(value, "object_field", value.type, key)
    match type_.kind:
        case TypeKind.JSONB:
            return _cast(of_kind(inner, "record_value", value.type), type_)
        case TypeKind.STRUCT:
            return _row(coercer, inner, type_, base)
        case TypeKind.ARRAY:
            return _array(coercer, inner, type_)
        case TypeKind.MAP:
            raise FeatureNotSupported(f"a column of type {type_} in a row made of jsonb is not supported")
    return _from_text(coercer, of_kind(value, "object_field_text", VARCHAR, key), type_)
