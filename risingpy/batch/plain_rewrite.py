"""UPDATE and DELETE of one row by its key, compiled: for values that Python has as rows have them. Without Arrow.

    RowRewrite(PointGet(t, key [$1]), new [$0, $1 + $2])   =>   PlainRewrite(parameter 1; c1: old + parameter 2)

It gives what `RowRewrite.rewritten` gives. Sums of integers that leave their type are left to the evaluator, which
raises their error.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from risingpy.batch.parameters import Parameters, parameter_alone
from risingpy.batch.plain_rows import NotPlain
from risingpy.batch.row_rewrite import RowRewrite
from risingpy.plan.catalog import Table
from risingpy.plan.expressions import Call, Cast, Expr, InputRef, Literal, Parameter
from risingpy.types import SqlType, TypeKind

Old = Callable[[int], object]
"""The value that a column of the row has."""

PlainValue = Callable[[Old, Parameters], object]
_Operation = Callable[[int, int], int]

_BITS = {TypeKind.SMALLINT: 15, TypeKind.INTEGER: 31, TypeKind.BIGINT: 63}
_PLAIN = (*_BITS, TypeKind.BOOLEAN, TypeKind.VARCHAR, TypeKind.ENUM)
_SUMS: dict[str, _Operation] = {"add": operator.add, "subtract": operator.sub, "multiply": operator.mul}


@dataclass(frozen=True, slots=True)
class PlainRewrite:
    """What becomes of the row of one key."""

    _key: tuple[PlainValue, ...]  # in the order of the table's primary key
    _new: tuple[tuple[int, PlainValue], ...]  # the columns that change

    def key(self, parameters: Parameters) -> tuple[object, ...]:
        """The values of the primary key's columns. Raises NotPlain if one is NULL: no row has that."""
        values = tuple(value(_no_row, parameters) for value in self._key)
        if None in values:
            raise NotPlain
        return values

    @property
    def columns(self) -> tuple[int, ...]:
        """Those that change."""
        return tuple(column for column, _ in self._new)

    def new(self, old: Old, parameters: Parameters) -> Mapping[int, object]:
        """The values of the columns that change. Raises NotPlain."""
        return {column: value(old, parameters) for column, value in self._new}


def plain_rewrite(rewrite: RowRewrite) -> PlainRewrite | None:
    """The rewrite, compiled; None if only `rewritten` or the evaluator can compute it."""
    table, get = rewrite.table, rewrite.get
    if rewrite.condition is not None:
        return None
    stored = {part.index: expr for part, expr in zip(table.table.key, get.key, strict=True)}
    keys = [_key_value(stored[index], table.columns[index].type) for index in table.primary_key]
    new: list[tuple[int, PlainValue]] = []
    for place, expr in enumerate(rewrite.new):
        if isinstance(expr, InputRef) and expr.index == place:
            continue
        value = _value(expr)
        if value is None or not _is_same(expr.type, table.columns[place].type):
            return None
        new.append((place, value))
    known = tuple(each for each in keys if each is not None)
    return PlainRewrite(known, tuple(new)) if len(known) == len(keys) else None


def plain_new(table: Table, new: Sequence[Expr]) -> tuple[tuple[int, PlainValue], ...] | None:
    """The columns of a row that DO UPDATE changes, compiled; None if only the evaluator can compute one.

    The expressions are over the row that stands and, after its columns, the one that was to be inserted.
    """
    found: list[tuple[int, PlainValue]] = []
    for place, expr in enumerate(new):
        if isinstance(expr, InputRef) and expr.index == place:
            continue
        same = _is_same(expr.type, table.columns[place].type) or expr.type == table.columns[place].type
        value = _column(expr.index) if isinstance(expr, InputRef) else _value(expr)
        if value is None or not same:
            return None
        found.append((place, value))
    return tuple(found)


def _column(index: int) -> PlainValue:
    return lambda old, parameters: old(index)


def _key_value(expr: Expr, type_: SqlType) -> PlainValue | None:
    is_alone = isinstance(expr, Literal) or parameter_alone(expr) is not None
    return _value(expr) if is_alone and _is_same(expr.type, type_) else None


def _is_same(type_: SqlType, other: SqlType) -> bool:
    return type_.kind is other.kind and type_.kind in _PLAIN and not type_.system


def _value(expr: Expr) -> PlainValue | None:
    if expr.type.kind not in _PLAIN or expr.type.system:
        return None
    match expr:
        case InputRef(column):
            return lambda old, parameters: old(column)
        case Literal(value):
            return lambda old, parameters: value
        case Parameter(index):
            return lambda old, parameters: parameters[index - 1]
        case Cast(Call("check_length", (Parameter(index), Literal(int(length)))), _):
            return _text(index, length)
        case Cast(inner, type_) if type_.kind in _BITS and inner.type.kind in _BITS:
            value_of = _value(inner)
            return None if value_of is None else _within(value_of, _BITS[type_.kind])
        case Call(function, (left, right)) if function in _SUMS and expr.type.kind in _BITS:
            return _sum(_SUMS[function], _value(left), _value(right), _BITS[expr.type.kind])
    return None


def _sum(operation: _Operation, left: PlainValue | None, right: PlainValue | None, bits: int) -> PlainValue | None:
    if left is None or right is None:
        return None

    def computed(old: Old, parameters: Parameters) -> object:
        a, b = left(old, parameters), right(old, parameters)
        if a is None or b is None:
            return None
        if not (isinstance(a, int) and isinstance(b, int)):
            raise NotPlain
        return operation(a, b)

    return _within(computed, bits)


def _within(value_of: PlainValue, bits: int) -> PlainValue:
    limit = 1 << bits

    def value(old: Old, parameters: Parameters) -> object:
        found = value_of(old, parameters)
        if isinstance(found, int) and not -limit <= found < limit:
            raise NotPlain
        return found

    return value


def _text(index: int, length: int) -> PlainValue:
    def value(old: Old, parameters: Parameters) -> object:
        text = parameters[index - 1]
        if text is not None and not (isinstance(text, str) and len(text) <= length):
            raise NotPlain
        return text

    return value


def _no_row(column: int) -> object:
    raise NotPlain
