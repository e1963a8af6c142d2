"""UPDATE and DELETE of one row by its whole key, computed from the row itself.

    UPDATE t SET v = v + 1 WHERE id = $1   =>   RowRewrite(PointGet(t, key [$1]), no condition, new [$0, $1 + 1])

The caller finds the newest row of the key, which no query over committed rows has yet. Sums of integers, constants and
comparisons are computed here, in microseconds; what else there is, `BatchRunner` computes with `query`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from risingpy.batch.key_lookup import key_read, key_table
from risingpy.batch.parameters import Parameters, constant, parameter_alone
from risingpy.batch.plan import PointGet
from risingpy.plan.catalog import Table
from risingpy.plan.expression_trees import conjuncts, substituted, transform, walk
from risingpy.plan.expressions import Call, Cast, Expr, InputRef, Literal, Parameter
from risingpy.plan.logical import Filter, GivenRows, LogicalPlan, Project, Scan
from risingpy.types import SqlType, TypeKind
from risingpy.types.far_moments import value_of

# Python has their values as `Literal` does.
_PLAIN = (TypeKind.BOOLEAN, TypeKind.SMALLINT, TypeKind.INTEGER, TypeKind.BIGINT, TypeKind.VARCHAR, TypeKind.ENUM)


@dataclass(frozen=True, slots=True)
class RowRewrite:
    """What becomes of one row. Expressions are over the table's columns; `new` is empty for DELETE.

    `condition` is what WHERE asks besides the key: the whole of WHERE, if it asks more. `query` is the statement's
    query with GivenRows, the row, in place of the table.
    """

    table: Table
    get: PointGet
    condition: Expr | None
    new: tuple[Expr, ...]
    query: LogicalPlan

    def key(self, parameters: Parameters) -> pa.Table | None:
        """The key's columns of the row, called by their positions in the table; None if no row can have the key.

        Raises KeyError if only the evaluator can compute it.
        """
        return key_table(self.get, parameters)

    def takes_constants(self, parameters: int) -> bool:
        """As `PreparedQuery.takes_constants`: each parameter is all of a key's column, or a number or text in a sum."""
        keys = [parameter_alone(expr) for expr in self.get.key]
        parts = [part for expr in self.new for part in walk(expr)]
        if self.condition is not None or not all(map(_means_the_same_with_constants, parts)):
            return False
        values = [place for place in keys if place is not None]
        values += [part.index for part in parts if isinstance(part, Parameter)]
        return sorted(values) == [*range(1, parameters + 1)]

    def rewritten(self, row: pa.Table, parameters: Parameters) -> tuple[pa.Table, pa.Table] | None:
        """The old row and the new one, or none of both if WHERE does not select it; None if it takes the evaluator.

        For DELETE, the new one is the old one.
        """
        if self.condition is not None:
            holds = value_of_row(self.condition, self.table, row, parameters)
            if holds is None:
                return None
            if holds.value is not True:
                return row.slice(0, 0), row.slice(0, 0)
        new = row
        for place, expr in enumerate(self.new):
            if isinstance(expr, InputRef) and expr.index == place:
                continue
            value = value_of_row(expr, self.table, row, parameters)
            if value is None:
                return None
            new = new.set_column(place, f"c{place}", pa.array([value.value], expr.type.arrow))
        return row, new


def row_rewrite(query: LogicalPlan, table: Table, *, has_new: bool) -> RowRewrite | None:
    """The rewrite of one row that an UPDATE's or DELETE's optimized query asks for; None if it asks for another."""
    width = len(table.columns)
    outputs: Sequence[Expr] = ()
    match query:
        case Project(Filter(Scan() as scan, predicate) as selected, expressions):
            outputs = expressions
            given: LogicalPlan = replace(query, input=replace(selected, input=GivenRows(scan.schema)))
        case Filter(Scan() as scan, predicate):
            given = replace(query, input=GivenRows(scan.schema))
        case _:
            return None
    if scan.columns != tuple(range(width)) or len(outputs) not in (0, width, 2 * width):
        return None
    get = key_read(table, scan, predicate)
    if not isinstance(get, PointGet) or not all(_is_column(expr, place) for place, expr in enumerate(outputs[:width])):
        return None
    new = tuple(outputs[width:]) if has_new else ()
    if has_new and not (new and all(_is_column(new[place], place) for place in table.primary_key)):
        return None
    only_key = len(conjuncts(predicate)) == len(get.key)
    return RowRewrite(table, get, None if only_key else predicate, new, given)


def _means_the_same_with_constants(part: Expr) -> bool:
    is_sum = isinstance(part, Call) and part.function in ("add", "subtract", "multiply")
    return is_sum or isinstance(part, Cast | InputRef | Literal | Parameter)


def _is_column(expr: Expr, place: int) -> bool:
    return isinstance(expr, InputRef) and expr.index == place


def value_of_row(expr: Expr, table: Table, row: pa.Table, parameters: Parameters = ()) -> Literal | None:
    """The value of an expression over the one row; None if only the evaluator can compute it."""

    def column(part: Expr) -> Expr | None:
        if not isinstance(part, InputRef):
            return None
        type_ = table.columns[part.index].type
        return Literal(value_of(row.column(part.index), 0), type_) if _is_plain(type_) else None

    return constant(transform(expr, column), parameters)


def value_over(expr: Expr, type_: SqlType, value: object) -> Literal | None:
    """The value of an expression over one value, its `InputRef(0)`; None if only the evaluator can compute it."""
    return constant(substituted(expr, [Literal(value, type_)]), ()) if _is_plain(type_) else None


def _is_plain(type_: SqlType) -> bool:
    return type_.kind in _PLAIN or type_.is_fixed_numeric
