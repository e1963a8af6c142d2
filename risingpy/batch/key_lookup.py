"""Finds keys in a query's conditions: equalities that fix the first columns of a relation's key."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from decimal import Context, Decimal

import pyarrow as pa

from risingpy.batch.parameters import Parameters, constant
from risingpy.batch.plan import KeyRead, ListScan, PointGet, PrefixScan
from risingpy.plan.catalog import Index, StoredRelation
from risingpy.plan.expression_trees import conjuncts, walk
from risingpy.plan.expressions import Call, Case, Cast, Expr, InputRef, Literal, Parameter
from risingpy.plan.logical import Scan
from risingpy.storage.codec.reference_json import json_key
from risingpy.types import BYTEA, JSONB, MAX_PRECISION, NUMERIC, SqlType, TypeKind
from risingpy.types.wide_numeric import KEY_BYTES, of_key, to_decimal

# Equal values of these may have different keys: 0 and -0, 1 month and 30 days.
_SEVERAL_FORMS = (TypeKind.REAL, TypeKind.DOUBLE, TypeKind.INTERVAL)
_INTEGERS = (TypeKind.SMALLINT, TypeKind.INTEGER, TypeKind.BIGINT)
MOST_LISTED = 50_000  # values that are looked up one by one; more are found by reading all rows
_KEYS = ("numeric_key", "jsonb_key")
_ARITHMETIC = ("add", "subtract", "multiply")
_WIDE = Context(prec=2 * MAX_PRECISION)


def key_read(relation: StoredRelation, scan: Scan, predicate: Expr) -> KeyRead | None:
    """The rows that the predicate over the scan leaves, or a few more; None if it fixes no first column of the key.

    The predicate must still be applied to them.
    """
    key = tuple(_leading_values(scan, relation, dict(_equalities(predicate))))
    if not key:
        lists = (list_scan(relation, scan, each) for each in conjuncts(predicate))
        return next((each for each in lists if each is not None), None)
    read = PointGet if len(key) == len(relation.table.key) else PrefixScan
    return read(relation, key, scan.columns)


def list_scan(relation: StoredRelation, scan: Scan, condition: Expr) -> ListScan | None:
    """The rows for which `first key column IN (constants)` holds: just these, so that it need not be applied again."""
    match condition:
        case Call("in_list", (InputRef(index), Literal(listed, type_))) if isinstance(listed, Sequence):
            values, types = listed, {type_.element}
        case Call("in", (InputRef(index), *args)) if all(isinstance(arg, Literal) for arg in args):
            items = [arg for arg in args if isinstance(arg, Literal)]
            values, types = [item.value for item in items], {item.type for item in items}
        case Call("in" | "any_eq", (Call("jsonb_key", (InputRef(index),)), *args)):
            found = _listed_json(args)
            if found is None:
                return None
            values, types = found, {JSONB}
        case _:
            return None
    schema = relation.table
    if not schema.key or scan.columns[index] != schema.key[0].index or len(values) > MOST_LISTED:
        return None
    column = relation.columns[schema.key[0].index].type
    if not schema.tells_vnode(1) or any(type_.arrow != column.arrow for type_ in types):
        return None
    if column.kind in _SEVERAL_FORMS:
        return None
    distinct = _distinct_json(values) if column.kind is TypeKind.JSONB else dict.fromkeys(values)
    distinct.pop(None, None)
    return ListScan(relation, tuple(distinct), scan.columns)


def _listed_json(args: Sequence[Expr]) -> Sequence[object] | None:
    """The constants whose keys a list has, or an array; None if they are no constants."""
    match args:
        case (Call("numeric_keys", (Literal(tuple(values)),)),):
            return values
    keys = [arg.args[0] for arg in args if isinstance(arg, Call) and arg.function == "jsonb_key"]
    constants = [key.value for key in keys if isinstance(key, Literal)]
    return constants if len(constants) == len(args) else None


def _distinct_json(values: Sequence[object]) -> dict[object, None]:
    """Of equal values the first: each row is found once."""
    by_key = {json_key(value): value for value in values if isinstance(value, str)}
    return dict.fromkeys(by_key.values())


def may_become_list(relation: StoredRelation, indexes: Iterable[Index], scan: Scan, predicate: Expr) -> bool:
    """Whether a `list_scan` may be found once parameters have values: `id = ANY ($1)`."""
    places = {column.column_id: place for place, column in enumerate(relation.columns)}
    firsts = [index.index.keys[0].expression for index in indexes]
    columns = {places[each.index] for each in firsts if isinstance(each, InputRef)}
    columns |= {part.index for part in relation.table.key[:1]}
    for condition in conjuncts(predicate):
        match condition:
            case Call("in" | "any_eq", (InputRef(index) | Call("jsonb_key", (InputRef(index),)), *args)) if (
                scan.columns[index] in columns
            ):
                if any(isinstance(part, Parameter) for arg in args for part in walk(arg)):
                    return True
    return False


def is_key_expression(expr: Expr) -> bool:
    """Whether the expression is a constant once parameters have values, unless it overflows its type."""
    match expr:
        case Literal() | Parameter():
            return True
        case Cast(Call("check_length" | "check_character", (arg, Literal())), type_) if type_.is_text:
            return is_key_expression(arg)  # a text on its way into varchar(n): only one that fits is a constant
        case Cast(arg, type_):
            is_number = type_.kind in _INTEGERS or type_.is_fixed_numeric
            is_cast = arg.type.kind in _INTEGERS and is_number
            is_cast = is_cast or (arg.type.is_wide and type_.is_fixed_numeric)
            return is_cast and is_key_expression(arg)
        case Call(function, args):
            integers = all(part.type.kind in _INTEGERS for part in (expr, *args))
            return function in _ARITHMETIC and integers and all(map(is_key_expression, args))
    return False


def may_become_key(predicate: Expr) -> bool:
    """Whether the predicate may become an equality once parameters have values: `$1 IS NULL OR id = $1`."""
    for condition in conjuncts(predicate):
        parts = list(walk(condition))
        branches = any(isinstance(part, Case) or (isinstance(part, Call) and part.function == "or") for part in parts)
        if branches and any(isinstance(part, Parameter) for part in parts):
            return True
    return False


def key_values(read: PointGet | PrefixScan, parameters: Parameters) -> tuple[Literal, ...] | None:
    """The values of the key's first columns, in their stored form. None: no row can be equal.

    If only the evaluator can compute a value, because it overflows, the values end before it.
    """
    schema = read.relation.table
    values: list[Literal] = []
    for column, expr in zip(schema.key, read.key, strict=False):
        value = constant(expr, parameters)
        if value is None:
            break
        stored = _as_stored(value, read.relation.columns[column.index].type)
        if stored is None:  # NULL, or more decimals than the column has; `_storable` excludes all else
            return None
        values.append(stored)
    return tuple(values)


def key_table(get: PointGet, parameters: Parameters) -> pa.Table | None:
    """The key's columns as a row, called by their positions in the relation; None if no row can have the key.

    Raises KeyError if only the evaluator can compute it.
    """
    values = key_values(get, parameters)
    if values is None:
        return None
    if len(values) < len(get.key):
        raise KeyError
    parts = zip(get.relation.table.key, values, strict=True)
    return pa.table({f"c{part.index}": pa.array([value.value], value.type.arrow) for part, value in parts})


def _leading_values(scan: Scan, relation: StoredRelation, values: dict[int, Expr]) -> Iterator[Expr]:
    """The values of the first key columns, up to the first column without an equality."""
    for key in relation.table.key:
        expr = values.get(scan.columns.index(key.index)) if key.index in scan.columns else None
        value = None if expr is None else _storable(expr, relation.columns[key.index].type)
        if value is None:
            return
        yield value


def _storable(expr: Expr, type_: SqlType) -> Expr | None:
    """The expression as a stored value of the key column; None for NULL, and for a value that has no exact form there.

    For a parameter, its type decides whether it may have one; `key_values` checks the value.
    """
    if isinstance(expr, Literal):
        return _as_stored(expr, type_)
    if type_.kind in _SEVERAL_FORMS:
        return None
    is_number = type_.kind is TypeKind.NUMERIC and not type_.is_wide and expr.type.kind is TypeKind.NUMERIC
    return expr if expr.type.arrow == type_.arrow or is_number else None


def _as_stored(literal: Literal, type_: SqlType) -> Literal | None:
    """The constant as a value of the key column's type; None for NULL, and for one that the type does not have."""
    if type_.kind in _SEVERAL_FORMS:
        return None
    if literal.type.arrow == type_.arrow:
        return None if literal.value is None else literal
    value = to_decimal(literal.value) if literal.type.is_wide and isinstance(literal.value, bytes) else literal.value
    if type_.kind is TypeKind.NUMERIC and not type_.is_wide and isinstance(value, Decimal) and value.is_finite():
        assert type_.scale is not None
        scaled = value.quantize(Decimal(1).scaleb(-type_.scale), context=_WIDE)
        if scaled == value and abs(scaled) < Decimal(10) ** (type_.precision or 0) / 10**type_.scale:
            return Literal(scaled, type_)
    return None


def _uncast(expr: Expr) -> Expr:
    """The column without a cast to a wide numeric; the number or the jsonb itself if its key is compared."""
    match expr:
        case Call("numeric_key", (number,)):
            return _uncast(number)
        case Call("jsonb_key", (value,)):
            return value
        case Literal(bytes(key)) if expr.type == BYTEA and len(key) == KEY_BYTES:
            return Literal(of_key(key), NUMERIC)
    return expr.arg if isinstance(expr, Cast) and expr.type.is_wide and not expr.arg.type.is_float else expr


def _equalities(predicate: Expr) -> Iterator[tuple[int, Expr]]:
    """(column, constant) of the equalities that must all hold."""
    for condition in conjuncts(predicate):
        if isinstance(condition, Call) and condition.function in ("eq", "in", "jsonb_eq"):
            # IN (…) of one value is an equality; the patterns below take no longer list.
            by_key = any(isinstance(arg, Call) and arg.function in _KEYS for arg in condition.args)
            match tuple(map(_uncast, condition.args)) if by_key else condition.args:
                case (InputRef(index=index), value) if is_key_expression(value):
                    yield index, value
                case (value, InputRef(index=index)) if is_key_expression(value):
                    yield index, value
