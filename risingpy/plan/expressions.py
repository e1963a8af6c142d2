"""Typed expressions: what the binder makes, the optimizer moves and the evaluator runs.

An expression reads one row, by column position. Every node knows its type; implicit casts are explicit
`Cast` nodes by the time the binder is done, so that nothing below it needs PostgreSQL's coercion rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import Enum
from typing import Protocol, assert_never

from risingpy.types import SqlType


@dataclass(frozen=True, slots=True)
class InputRef:
    """The input row's column at `index`."""

    index: int
    type: SqlType


def _written_alike(first: object, second: object) -> bool:
    """Whether values are equal and written alike: NaN and NaN, but neither 0 and -0 nor 1.0 and 1.00."""
    if isinstance(first, tuple) and isinstance(second, tuple):
        return len(first) == len(second) and all(map(_written_alike, first, second))
    if isinstance(first, float | Decimal) or isinstance(second, float | Decimal):
        return type(first) is type(second) and str(first) == str(second)
    return first == second


def _hashed(value: object) -> object:
    """What stands for a value in its literal's hash: NaN has a hash of its own in each place."""
    if isinstance(value, tuple):
        return tuple(map(_hashed, value))
    return None if value != value else value


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant: None for NULL, else the Python value that Arrow takes for the type.

    bool, int, float, Decimal, str, bytes, date, time, datetime (aware for timestamptz), FarDate and FarMoment,
    NanoMoment for timestamp_ns, pyarrow.MonthDayNano for interval, and tuples for arrays and structs.

    Equal literals are written alike: 0 and -0 are two, for text and signs tell them apart, and so are 1.0 and 1.00. NaN
    is one.
    """

    value: object
    type: SqlType

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Literal) or self.type != other.type:
            return False
        return _written_alike(self.value, other.value)

    def __hash__(self) -> int:
        return hash((_hashed(self.value), self.type))


@dataclass(frozen=True, slots=True)
class Parameter:
    """`$index` (from 1) of a prepared statement; replaced by a Literal when it is bound."""

    index: int
    type: SqlType


@dataclass(frozen=True, slots=True)
class Call:
    """A scalar function or operator of the signature table, by its canonical name.

    Argument types are exactly a signature's; `type` is that signature's result.
    """

    function: str
    args: tuple[Expr, ...]
    type: SqlType


@dataclass(frozen=True, slots=True)
class Cast:
    """A change of type. Text that is no literal of the type is 22P02, a number too big 22003.

    A `safe` cast (TRY_CAST) gives NULL instead.
    """

    arg: Expr
    type: SqlType
    safe: bool = False


@dataclass(frozen=True, slots=True)
class Case:
    """`CASE WHEN condition THEN result … ELSE default END`; all results have `type`."""

    branches: tuple[tuple[Expr, Expr], ...]
    default: Expr
    type: SqlType


@dataclass(frozen=True, slots=True)
class CorrelatedRef:
    """Within a subquery's plan: the value of the subquery's `args[index]`, of the row that the subquery stands in."""

    index: int
    type: SqlType


class SubqueryKind(Enum):
    """What a subquery in an expression answers."""

    SCALAR = "scalar"  # the value of the one row's one column; NULL of no row, an error (21000) of more than one
    EXISTS = "EXISTS"  # whether there is a row
    ANY = "ANY"  # whether `comparison` is true of any row: true, else NULL if NULL of any, else false


class QueryPlan(Protocol):
    """What expressions need to know of a logical plan, which stands above them."""

    @property
    def schema(self) -> Sequence[object]: ...


@dataclass(frozen=True, slots=True)
class Subquery:
    """A query as an expression. The binder makes these; the rule `subqueries_to_apply` takes them out.

    `plan` reads nothing of the row that the subquery stands in: values that it needs are `args`, expressions over that
    row, which the plan calls `CorrelatedRef`. `comparison` (of ANY) reads the plan's columns and the `args`, so too.
    """

    kind: SubqueryKind
    plan: QueryPlan
    args: tuple[Expr, ...]
    type: SqlType
    comparison: Expr | None = None


Expr = InputRef | Literal | Parameter | Call | Cast | Case | CorrelatedRef | Subquery


def operands(expr: Expr) -> tuple[Expr, ...]:
    """The expressions directly inside."""
    match expr:
        case Call():
            return expr.args
        case Cast():
            return (expr.arg,)
        case Case():
            return (*(part for branch in expr.branches for part in branch), expr.default)
        case Subquery():
            return expr.args
        case InputRef() | Literal() | Parameter() | CorrelatedRef():
            return ()
        case _:
            assert_never(expr)


def with_operands(expr: Expr, parts: Sequence[Expr]) -> Expr:
    """`expr` with other expressions inside, in the order of `operands`."""
    match expr:
        case Call():
            return Call(expr.function, tuple(parts), expr.type)
        case Cast():
            return Cast(parts[0], expr.type, expr.safe)
        case Case():
            branches = tuple(zip(parts[0:-1:2], parts[1:-1:2], strict=True))
            return Case(branches, parts[-1], expr.type)
        case Subquery():
            return replace(expr, args=tuple(parts))
        case InputRef() | Literal() | Parameter() | CorrelatedRef():
            return expr
        case _:
            assert_never(expr)
