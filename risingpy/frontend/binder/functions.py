"""Function calls: scalar functions of the signature table, forms with their own typing, and aggregates."""

from __future__ import annotations

import re
from collections.abc import Callable

from sqlglot import exp

from risingpy.errors import FeatureNotSupported, InvalidParameterValue, SqlError
from risingpy.executors.expression.nodes import Call, Cast, Expr, Literal
from risingpy.executors.expression.signatures import AGGREGATES, EXTRACT_FIELDS, SCALARS, WINDOW_FUNCTIONS
from risingpy.frontend.binder.aggregate_calls import bind_aggregate
from risingpy.frontend.binder.calls import no_function
from risingpy.frontend.binder.coercion import Operand
from risingpy.frontend.binder.expressions import BINDERS, ExpressionBinder
from risingpy.frontend.binder.trees import name_of, position_of
from risingpy.types import DATE, DOUBLE, TIMESTAMP, TIMESTAMPTZ, UNKNOWN, VARCHAR, TypeKind

# Functions that PostgreSQL and RisingWave have and this version does not: refused by name, not as unknown.
_UNSUPPORTED = frozenset(
    """
    age array_agg array_length cume_dist
    current_setting date_bin dense_rank encode decode format generate_series gen_random_uuid json_agg
    json_build_object jsonb_agg jsonb_build_object lag lead ntile nth_value percent_rank
    proctime rank regexp_count regexp_match regexp_matches
    regexp_split_to_array regexp_split_to_table row row_number set_config
    string_to_array to_char to_date to_json to_jsonb unnest
    current_time localtime tumble hop clock_timestamp
    """.split()  # noqa: SIM905 - a page of words reads better than a page of quotes
)

_FIELD_SYNONYMS = """
century: c cent centuries   day: d days        decade: decades  hour: h hr hours hrs   millennium: mil mils millennia
minute: m min mins minutes  month: mon mons months             quarter: qtr quarters   second: s sec secs seconds
week: w weeks               year: y yr yrs years               milliseconds: ms msec msecs millisecond
microseconds: us usec usecs microsecond
"""
_FIELD_NAMES = {
    synonym: field
    for field, synonyms in re.findall(r"(\w+): ([\w ]+?)(?=\s+\w+:|\n)", _FIELD_SYNONYMS)
    for synonym in synonyms.split()
}
_ALL_FIELDS = frozenset(field for fields in EXTRACT_FIELDS.values() for field in fields)


def _function(binder: ExpressionBinder, tree: exp.Anonymous) -> Expr:
    return _call(binder, tree, name_of(tree.this))


def _qualified(binder: ExpressionBinder, tree: exp.Dot) -> Expr:
    """`pg_catalog.f(…)`: the schema of all functions."""
    inner = tree.expression
    if not isinstance(inner, exp.Anonymous):
        raise FeatureNotSupported("field selection is not supported", position=position_of(tree))
    schema = name_of(tree.this.this if isinstance(tree.this, exp.Column) else tree.this)
    if schema != "pg_catalog":
        name = f"{schema}.{name_of(inner.this)}"
        raise no_function(name, [binder.bind(a) for a in inner.expressions], position_of(tree))
    return _function(binder, inner)


def _call(binder: ExpressionBinder, tree: exp.Anonymous, name: str) -> Expr:
    position = position_of(tree)
    if name in AGGREGATES:
        return bind_aggregate(binder, tree, name)
    if name in WINDOW_FUNCTIONS:
        message = f"window function {name} requires an OVER clause"
        raise SqlError(message, sqlstate="42809", position=position)
    if name in _UNSUPPORTED and name not in SCALARS:
        raise FeatureNotSupported(f"function {name} is not supported", position=position)
    for argument in tree.expressions:
        if isinstance(argument, exp.Distinct | exp.Order):
            word = "DISTINCT" if isinstance(argument, exp.Distinct) else "ORDER BY"
            message = f"{word} specified, but {name} is not an aggregate function"
            raise SqlError(message, sqlstate="42809", position=position)
    args = [binder.bind(argument) for argument in tree.expressions]
    special = _SPECIAL.get(name)
    if special is not None:
        return special(binder, name, args, position)
    constants = binder.context.constants
    if name in constants and not args:
        return Literal(constants[name], VARCHAR)
    return binder.calls.function(name, args, position)


def _extract(binder: ExpressionBinder, tree: exp.Extract) -> Expr:
    return _extracted(binder, tree.this.name, binder.bind(tree.expression), "extract", position_of(tree))


def _extracted(binder: ExpressionBinder, field: str, operand: Operand, name: str, position: int) -> Expr:
    kind = operand.type.kind
    if kind is TypeKind.UNKNOWN:
        unit = Operand(Literal(field, UNKNOWN), position)
        raise no_function(f"pg_catalog.{name}", [unit, operand], position, ambiguous=True)
    if kind not in EXTRACT_FIELDS:
        raise no_function(f"pg_catalog.{name}", [Operand(Literal(field, UNKNOWN), position), operand], position)
    unit_name = _FIELD_NAMES.get(field.lower(), field.lower())
    if unit_name not in EXTRACT_FIELDS[kind]:
        if unit_name in _ALL_FIELDS:
            raise FeatureNotSupported(f'unit "{field}" not supported for type {operand.type}')
        raise InvalidParameterValue(f'unit "{field}" not recognized for type {operand.type}')
    return binder.calls.form(f"EXTRACT_{unit_name.upper()}", [operand], "EXTRACT")


def _date_part(binder: ExpressionBinder, name: str, args: list[Operand], position: int) -> Expr:
    if len(args) != 2:
        raise no_function(name, args, position)
    match args[0].expr:
        case Literal(str(field)):
            return Cast(_extracted(binder, field, args[1], name, position), DOUBLE)
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
    if args:
        if name in ("current_timestamp", "localtimestamp"):
            raise FeatureNotSupported(f"{name.upper()} with a precision is not supported", position=position)
        raise no_function(name, args, position)
    now = Call("now", (), TIMESTAMPTZ)
    targets = {"current_date": DATE, "localtimestamp": TIMESTAMP}
    return Cast(now, targets[name]) if name in targets else now


def _pg_typeof(binder: ExpressionBinder, name: str, args: list[Operand], position: int) -> Expr:
    if len(args) != 1:
        raise no_function(name, args, position)
    return Literal(args[0].type.kind.value, VARCHAR)


_SPECIAL: dict[str, Callable[[ExpressionBinder, str, list[Operand], int], Expr]] = {
    "coalesce": _coalesce,
    "greatest": _coalesce,
    "least": _coalesce,
    "nullif": _nullif,
    "date_part": _date_part,
    "pg_typeof": _pg_typeof,
    **dict.fromkeys(
        ("now", "current_timestamp", "transaction_timestamp", "statement_timestamp", "current_date", "localtimestamp"),
        _now,
    ),
}

BINDERS.update({exp.Anonymous: _function, exp.Dot: _qualified, exp.Extract: _extract})
