"""Functions and forms whose arguments are typed in a way of their own: EXTRACT, now(), COALESCE, OVERLAPS, …"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sqlglot import exp

from risingpy.errors import (
    CannotCoerce,
    DatatypeMismatch,
    FeatureNotSupported,
    InvalidParameterValue,
    SyntaxError_,
    UndefinedObject,
)
from risingpy.frontend.binder.expressions.expression_binder import ExpressionBinder
from risingpy.frontend.binder.functions.domains import domain_of_value, shown_domain
from risingpy.frontend.binder.functions.enums import ENUM_FUNCTIONS
from risingpy.frontend.binder.functions.json_objects import bind_json_object
from risingpy.frontend.binder.functions.multiranges import MULTIRANGE_FUNCTIONS
from risingpy.frontend.binder.functions.populate import no_record_here, populate_map, populate_record
from risingpy.frontend.binder.functions.system import current_setting_of
from risingpy.frontend.binder.trees import name_of, position_of
from risingpy.frontend.binder.typing.coercion import Context, Operand
from risingpy.frontend.binder.typing.collations import check_collation
from risingpy.frontend.binder.typing.overloads import NoMatch, resolve
from risingpy.frontend.binder.typing.signature_calls import no_function
from risingpy.functions.signatures import EXTRACT_FIELDS, SCALARS
from risingpy.plan.expressions import Call, Cast, Expr, Literal
from risingpy.types import (
    BOOLEAN,
    DATE,
    DOUBLE,
    INTEGER,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    UNKNOWN,
    VARCHAR,
    TypeKind,
    array_of,
)
from risingpy.types.date_units import part_of
from risingpy.types.system_types import TEXT
from risingpy.types.time_precision import MOST_DIGITS

_NOW_TYPES = {"current_date": DATE, "localtimestamp": TIMESTAMP, "localtime": TIME}  # the other ones: timestamptz
_WITH_PRECISION = ("current_timestamp", "localtimestamp", "localtime")
_ALL_FIELDS = frozenset(  # that PostgreSQL knows
    field for kind, fields in EXTRACT_FIELDS.items() if kind is not TypeKind.TIMESTAMP_NS for field in fields
)


def extracted(binder: ExpressionBinder, field: str, operand: Operand, name: str, position: int) -> Expr:
    """The `field` of a date, time or interval, as numeric. `name` is what error messages call the function.

    A timestamptz is first made local time, but for the epoch and fields of the time zone. Raises 42883 for other types
    and 42725 for an unknown literal; for a field, 22023 if it is none and 0A000 if the type lacks it.
    """
    kind = operand.type.kind
    if kind is TypeKind.UNKNOWN:
        unit = Operand(Literal(field, UNKNOWN), position)
        raise no_function(f"pg_catalog.{name}", [unit, operand], position, ambiguous=True)
    if kind not in EXTRACT_FIELDS:
        raise no_function(f"pg_catalog.{name}", [Operand(Literal(field, UNKNOWN), position), operand], position)
    field = field.lower()
    unit_name = part_of(field) or field
    if unit_name not in EXTRACT_FIELDS[kind]:
        if unit_name in _ALL_FIELDS:
            raise FeatureNotSupported(f'unit "{field}" not supported for type {operand.type}')
        raise InvalidParameterValue(f'unit "{field}" not recognized for type {operand.type}')
    if kind is TypeKind.TIMESTAMPTZ and unit_name != "epoch" and not unit_name.startswith("timezone"):
        operand = Operand(binder.context.coercer.coerce(operand, TIMESTAMP, Context.EXPLICIT), position)
    return binder.calls.form(f"EXTRACT_{unit_name.upper()}", [operand], "EXTRACT")


def _date_part(binder: ExpressionBinder, name: str, args: list[Operand], position: int) -> Expr:
    if len(args) != 2:
        raise no_function(name, args, position)
    match args[0].expr:
        case Literal(str(field)):
            source = args[1]
            if source.type.kind is TypeKind.DATE:  # there is none of a date
                source = Operand(binder.context.coercer.coerce(source, TIMESTAMP, Context.IMPLICIT), source.position)
            return Cast(extracted(binder, field, source, name, position), DOUBLE)
    raise FeatureNotSupported("date_part of a field that is no constant is not supported", position=position)


def _coalesce(binder: ExpressionBinder, name: str, args: list[Operand], position: int) -> Expr:
    if not args:
        raise no_function(name, args, position)
    return binder.calls.form(name.upper(), args, name.upper())


def _nullif(binder: ExpressionBinder, name: str, args: list[Operand], position: int) -> Expr:
    if len(args) != 2:
        raise no_function(name, args, position)
    compared = tuple(arg.expr for arg in binder.calls.comparable(args, position))
    return Call("nullif", compared, compared[0].type)


def _now(binder: ExpressionBinder, name: str, args: list[Operand], position: int) -> Expr:
    now, target = Call("now", (), TIMESTAMPTZ), _NOW_TYPES.get(name, TIMESTAMPTZ)
    if args:
        precision = args[0].expr
        if name not in _WITH_PRECISION or len(args) > 1 or not isinstance(precision, Literal):
            raise no_function(name, args, position)
        if not isinstance(precision.value, int) or precision.value < 0:
            raise no_function(name, args, position)
        target = replace(target, length=min(precision.value, MOST_DIGITS))
    return binder.context.coercer.coerce(Operand(now, position), target, Context.EXPLICIT)


def _proctime(binder: ExpressionBinder, name: str, args: list[Operand], position: int) -> Expr:
    if binder.clause == GENERATION and not args:
        return Call("proctime", (), TIMESTAMPTZ)
    message = "proctime() is only allowed in FOR SYSTEM_TIME AS OF and in generated columns"
    hint = "Is now() what you want? A table can keep the time at which a row came: ts TIMESTAMPTZ DEFAULT now()."
    raise FeatureNotSupported(message, position=position, hint=hint)


def _octet_length(binder: ExpressionBinder, name: str, args: list[Operand], position: int) -> Expr:
    """Of a character(n), the blanks at its end count."""
    if len(args) == 1 and args[0].type.kind is TypeKind.CHARACTER and args[0].type.length is not None:
        text = Operand(binder.context.coercer.coerce(args[0], VARCHAR, Context.EXPLICIT), position)
        length = Operand(Literal(args[0].type.length, INTEGER), position)
        args = [Operand(binder.calls.function("rpad", [text, length], position), position)]
    return binder.calls.function(name, args, position)


def _pg_typeof(binder: ExpressionBinder, name: str, args: list[Operand], position: int) -> Expr:
    if len(args) != 1:
        raise no_function(name, args, position)
    domain = domain_of_value(binder, args[0].expr)
    if domain is not None:
        return Literal(shown_domain(binder, domain, args[0].type), VARCHAR)
    known = binder.context.coercer.settled(args[0]).type if args[0].type.kind is TypeKind.MAP else args[0].type
    shown = known.leaf.name + "[]" if known.kind is TypeKind.ARRAY else known.name  # however many dimensions
    return Literal(shown, VARCHAR)


def _current_setting(binder: ExpressionBinder, name: str, args: list[Operand], position: int) -> Expr:
    match [arg.expr for arg in args]:
        case [Literal(str(setting))] | [Literal(str(setting)), Literal(bool())]:
            value = binder.context.session.setting(setting)
            missing_is_null = len(args) == 2 and args[1].expr == Literal(True, BOOLEAN)
            if value is None and not missing_is_null:
                raise UndefinedObject(f'unrecognized configuration parameter "{setting}"')
            return Literal(value, TEXT)
        case [_] | [_, _]:
            return current_setting_of(args[0], binder)
    raise no_function(name, args, position)


def _pg_backend_pid(binder: ExpressionBinder, name: str, args: list[Operand], position: int) -> Expr:
    if args:
        raise no_function(name, args, position)
    return Literal(binder.context.session.process_id, INTEGER)


def _age(binder: ExpressionBinder, name: str, args: list[Operand], position: int) -> Expr:
    """Of one timestamp: the age at midnight of today."""
    if len(args) == 1:
        midnight = Operand(_now(binder, "current_date", [], position), position)
        target = TIMESTAMPTZ if args[0].type.kind is TypeKind.TIMESTAMPTZ else TIMESTAMP
        args = [Operand(binder.context.coercer.coerce(midnight, target, Context.IMPLICIT), position), *args]
    return binder.calls.function(name, args, position)


def bind_overlaps(binder: ExpressionBinder, tree: exp.Overlaps) -> Expr:
    """(a, b) OVERLAPS (c, d); an interval as second is how long after the first."""
    position = position_of(tree)
    ends: list[Operand] = []
    for side in (tree.this, tree.expression):
        if not isinstance(side, exp.Tuple) or len(side.expressions) != 2:
            message = "wrong number of parameters on {} side of OVERLAPS expression"
            raise SyntaxError_(message.format("left" if side is tree.this else "right"), position=position)
        start, end = (binder.bind(part) for part in side.expressions)
        if end.type.kind is TypeKind.INTERVAL:
            end = Operand(binder.calls.operator("+", [start, end], position), position)
        ends += [start, end]
    signature = SCALARS["OVERLAPS"]
    try:
        chosen = resolve(signature, [end.type for end in ends], operator=False)
    except NoMatch as no_match:
        raise no_function("pg_catalog.overlaps", ends, position, ambiguous=no_match.ambiguous) from None
    return binder.calls.apply(chosen, ends)


def bind_collate(binder: ExpressionBinder, tree: exp.Collate) -> Expr:
    """See `check_collation`."""
    operand = binder.bind(tree.this)
    name = name_of(tree.expression.this if isinstance(tree.expression, exp.Column) else tree.expression)
    check_collation(name, operand.type, position_of(tree))
    return operand.expr


def _record_of_no_type(binder: ExpressionBinder, name: str, args: list[Operand], position: int) -> Expr:
    raise no_record_here(position)


def _array_fill(binder: ExpressionBinder, name: str, args: list[Operand], position: int) -> Expr:
    """As many dimensions as the second argument has elements: the depth of an array belongs to its type."""
    if len(args) == 3:
        raise FeatureNotSupported("array_fill with lower bounds is not supported: they are 1", position=position)
    if len(args) != 2:
        raise no_function(name, args, position)
    value, dimensions = args
    if value.type.kind is TypeKind.UNKNOWN:
        message = "could not determine polymorphic type because input has type unknown"
        raise DatatypeMismatch(message, position=position)
    try:
        sizes = binder.context.coercer.coerce(dimensions, array_of(INTEGER), Context.IMPLICIT)
    except CannotCoerce:
        raise no_function(name, args, position) from None
    match sizes:
        case Call("array", items) | Literal(tuple(items)) if items:
            result = value.type
            for _ in items:
                result = array_of(result)
            return Call("array_fill", (value.expr, sizes), result)
    message = "array_fill with dimensions that are no ARRAY[…] is not supported"
    raise FeatureNotSupported(message, position=dimensions.position)


def _array_cat(binder: ExpressionBinder, name: str, args: list[Operand], position: int) -> Expr:
    """An array of one dimension less than the other one becomes its first or its last item."""
    depths = [arg.type.depth for arg in args]
    if len(args) == 2 and min(depths) > 0 and abs(depths[0] - depths[1]) == 1:
        name = "array_append" if depths[0] > depths[1] else "array_prepend"
    return binder.calls.function(name, args, position)


GENERATION = "column generation expressions"  # the clause of a generated column's expression

SPECIAL: dict[str, Callable[[ExpressionBinder, str, list[Operand], int], Expr]] = {
    **ENUM_FUNCTIONS,
    **MULTIRANGE_FUNCTIONS,
    "coalesce": _coalesce,
    "greatest": _coalesce,
    "least": _coalesce,
    "nullif": _nullif,
    "date_part": _date_part,
    "age": _age,
    "current_setting": _current_setting,
    "pg_backend_pid": _pg_backend_pid,
    "pg_typeof": _pg_typeof,
    "array_fill": _array_fill,
    "array_cat": _array_cat,
    "octet_length": _octet_length,
    "proctime": _proctime,
    "jsonb_object": bind_json_object,
    "jsonb_populate_record": populate_record,
    "jsonb_populate_map": populate_map,
    "jsonb_to_record": _record_of_no_type,
    **dict.fromkeys(
        (
            *("now", "current_timestamp", "transaction_timestamp", "statement_timestamp"),
            *("current_date", "localtimestamp", "localtime"),
        ),
        _now,
    ),
}
