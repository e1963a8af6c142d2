"""Evaluates an expression part by part on a chunk with failing rows, so that only the failing part is NULL.

    coalesce(10 / x, -1), x = 0  =>  10 / x fails and is NULL, so the whole is -1

A part is computed from its operands' columns. AND, OR, COALESCE and CASE evaluate each operand only for the rows that
reach it, so that an operand that is not needed cannot fail.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.functions.evaluation.arrow_functions import as_column, compile_arrow
from risingpy.functions.evaluation.chunk_query import FAILURES, by_arrow, raise_if_invalid, run, select_of, typed
from risingpy.functions.evaluation.sql.maps import OVER_ELEMENTS
from risingpy.plan.expression_trees import opened
from risingpy.plan.expressions import Call, Case, Cast, Expr, InputRef, Literal, operands
from risingpy.storage.codec.column_buffers import whole, with_values

_LEAST_TRIED = 4  # nodes: smaller expressions are not tried as a whole again

_Open = Callable[[pa.Array], pa.Array]
_Join = Callable[[pa.Array, pa.Array], pa.Array]
# Which rows reach the next argument, and how it changes the result so far.
_IN_TURN: dict[str, tuple[_Open, _Join]] = {
    "and": (lambda so_far: pc.fill_null(so_far, True), pc.and_kleene),
    "or": (lambda so_far: pc.invert(pc.fill_null(so_far, False)), pc.or_kleene),
    "coalesce": (pc.is_null, lambda so_far, value: value),
}


def part_by_part(expr: Expr, chunk: pa.Table) -> tuple[pa.Array, int]:
    """The column of an expression that has failed as a whole, and how many evaluations of a part failed."""
    sizes: dict[int, int] = {}
    _measure(expr, sizes)
    parts = _Parts(sizes)
    return parts.failing(expr, chunk), parts.errors


def _measure(expr: Expr, sizes: dict[int, int]) -> None:
    """Counts the nodes of each part."""
    order: list[Expr] = []
    rest = [expr]
    while rest:
        part = rest.pop()
        order.append(part)
        rest += operands(part)
    for part in reversed(order):
        sizes[id(part)] = 1 + sum(sizes[id(inner)] for inner in operands(part))


@dataclass(slots=True)
class _Parts:
    sizes: dict[int, int]
    errors: int = field(default=0)

    def failing(self, expr: Expr, chunk: pa.Table) -> pa.Array:
        """The column of an expression that fails as a whole."""
        tried = self.sizes[id(expr)] // 2  # trying all parts of a deep expression again would be quadratic
        match expr:
            case Call(name) if name in _IN_TURN:
                return self._in_turn(expr, chunk, tried)
            case Case():
                return self._case(expr, chunk, tried)
            case Call(name, (given, body, variable)) if name in OVER_ELEMENTS:
                values = self._value(given, chunk, tried)
                column = InputRef(chunk.num_columns - 1, given.type)
                return self._node(Call(name, (column, body, variable), expr.type), [*chunk.columns[1:], values], chunk)
            case Call("let", (given, body, _)):
                return self._let(given, body, chunk, tried)
            case Call():
                columns = [self._value(arg, chunk, tried) for arg in expr.args if not isinstance(arg, Literal)]
                places = iter(range(len(columns)))
                args = tuple(arg if isinstance(arg, Literal) else InputRef(next(places), arg.type) for arg in expr.args)
                return self._node(Call(expr.function, args, expr.type), columns, chunk)
            case Cast(Literal()):
                return self._node(expr, [], chunk)
            case Cast():
                columns = [self._value(expr.arg, chunk, tried)]
                return self._node(Cast(InputRef(0, expr.arg.type), expr.type, expr.safe), columns, chunk)
        return self._value(expr, chunk, 0)

    def _value(self, expr: Expr, chunk: pa.Table, tried: int) -> pa.Array:
        """The column of an expression, which is tried as a whole if it has no more than `tried` nodes."""
        match expr:
            case InputRef():
                return whole(chunk.column(expr.index + 1))
            case Literal():
                return as_column(pa.scalar(expr.value, expr.type.arrow), chunk.num_rows, expr.type)
        if _LEAST_TRIED <= self.sizes[id(expr)] <= tried:
            value = by_arrow(compile_arrow(expr), expr, chunk)
            if value is not None:
                return whole(value)
            try:
                return whole(typed(run(select_of([expr]), chunk)[0], expr.type))
            except FAILURES as error:
                raise_if_invalid(error)
        return self.failing(expr, chunk)

    def _node(self, expr: Expr, columns: Sequence[pa.Array], chunk: pa.Table) -> pa.Array:
        """One function over its arguments' columns; NULL for rows in which it fails."""
        names = ["op", *(f"c{k}" for k in range(len(columns)))]
        given = pa.table([chunk.column(0), *columns], names=names)
        value = by_arrow(compile_arrow(expr), expr, given)
        if value is not None:
            return whole(value)
        try:
            # A struct around the value tells a failure from a NULL.
            (tried,) = run(select_of([expr], "TRY(struct_pack(v := {}))"), given)
        except duckdb.Error as error:
            raise_if_invalid(error)
            return self._by_rows(expr, given)
        self.errors += tried.null_count
        return whole(typed(pc.struct_field(tried, "v"), expr.type))

    def _by_rows(self, expr: Expr, chunk: pa.Table) -> pa.Array:
        """Evaluates single rows. DuckDB's TRY does not catch all errors (not a malformed LIKE pattern)."""
        sql = select_of([expr])
        pieces: list[pa.Array] = []
        for row in range(chunk.num_rows):
            try:
                pieces.extend(typed(run(sql, chunk.slice(row, 1))[0], expr.type).chunks)
            except duckdb.InterruptException as error:
                raise_if_invalid(error)
            except duckdb.Error:
                pieces.append(pa.nulls(1, expr.type.arrow))
                self.errors += 1
        return whole(pa.chunked_array(pieces, expr.type.arrow))

    def _in_turn(self, call: Call, chunk: pa.Table, tried: int) -> pa.Array:
        still_open, joined = _IN_TURN[call.function]
        result = self._value(call.args[0], chunk, tried)
        for arg in call.args[1:]:
            (rows,) = np.nonzero(still_open(result).to_numpy(zero_copy_only=False))
            if not len(rows):
                break
            value = self._value(arg, chunk.take(rows), tried)
            result = with_values(result, rows, joined(result.take(pa.array(rows)), value))
        return result

    def _let(self, given: Expr, body: Expr, chunk: pa.Table, tried: int) -> pa.Array:
        """The body over the operand's values, as one more column."""
        values = chunk.append_column(f"c{chunk.num_columns - 1}", self._value(given, chunk, tried))
        over = opened(body, InputRef(chunk.num_columns - 1, given.type))
        _measure(over, self.sizes)
        return self._value(over, values, tried)

    def _case(self, case: Case, chunk: pa.Table, tried: int) -> pa.Array:
        result = pa.nulls(chunk.num_rows, case.type.arrow)
        rows = np.arange(chunk.num_rows)
        for condition, value in case.branches:
            given = chunk.take(rows)
            holds = pc.fill_null(self._value(condition, given, tried), False).to_numpy(zero_copy_only=False)
            if holds.any():
                result = with_values(result, rows[holds], self._value(value, given.filter(holds), tried))
            rows = rows[~holds]
            if not len(rows):
                return result
        return with_values(result, rows, self._value(case.default, chunk.take(rows), tried))
