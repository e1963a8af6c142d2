"""What a plan's columns have from those that they are passed on from: a domain, a word for their type, an origin.

A column passes through filters, joins, GROUP BY, windows and views as it is. A UNION and COALESCE or CASE give what
their inputs have in common. Everything else computes a new value.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar

from risingpy.plan.expressions import Call, Case, Expr, InputRef, Subquery, SubqueryKind
from risingpy.plan.logical import (
    AggCall,
    Aggregate,
    Apply,
    ChangeLog,
    Expand,
    Filter,
    Join,
    Limit,
    LogicalPlan,
    OverWindow,
    Project,
    ProjectSet,
    Recursion,
    RecursiveScan,
    Scan,
    Sort,
    SystemScan,
    TopN,
    Union,
    Values,
)

T = TypeVar("T")


class PassedColumns(Generic[T]):
    """Follows a column to where it comes from. A subclass says what is found there, as a `T`."""

    computed: T
    """What a value has that nothing passes on."""
    of_itself: T
    """What a recursion's columns have where it reads itself, while the answer is still looked for."""
    window_functions: frozenset[str] = frozenset()
    """Window functions that pass their argument on."""
    common_functions: frozenset[str] = frozenset()
    """Scalar functions that give what their operands have in common."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], T] = {}

    def of(self, plan: LogicalPlan, place: int) -> T:
        """The answer for a plan's column. A plan that is read several times is looked at once."""
        key = id(plan), place
        if key not in self._known:
            self._known[key] = self.of_itself
            self._known[key] = self._found(plan, place)
        return self._known[key]

    def scanned(self, scan: Scan, place: int) -> T:
        """What a relation's column has."""
        raise NotImplementedError

    def system_scanned(self, scan: SystemScan, place: int) -> T:
        """What a column of a system catalog has."""
        return self.computed

    def written(self, values: Values, place: int) -> T:
        """What a column of VALUES has."""
        return self.computed

    def recursive(self, scan: RecursiveScan, place: int) -> T:
        """What a recursion's column has within its step."""
        return self.computed

    def aggregated(self, call: AggCall, plan: LogicalPlan) -> T:
        """What an aggregate's result has; the call's arguments are columns of `plan`."""
        return self.computed

    def unioned(self, found: Sequence[T]) -> T:
        """What the columns of a UNION have, whose inputs' have `found`."""
        return self.computed

    def common(self, operands: Sequence[Expr], plan: LogicalPlan) -> T:
        """What COALESCE, CASE and their like give."""
        return self.computed

    def other(self, expr: Expr, plan: LogicalPlan) -> T:
        """What any other expression over the columns of `plan` gives."""
        return self.computed

    def expression(self, expr: Expr, plan: LogicalPlan) -> T:
        """What an expression over the columns of `plan` gives."""
        match expr:
            case InputRef(index):
                return self.of(plan, index)
            case Case():
                return self.common([*(result for _, result in expr.branches), expr.default], plan)
            case Call(function, args) if function in self.common_functions:
                return self.common(args, plan)
            case Subquery():
                return self.subquery(expr)
        return self.other(expr, plan)

    def subquery(self, expr: Subquery) -> T:
        """What a subquery's value has."""
        if expr.kind is not SubqueryKind.SCALAR:
            return self.computed
        return self.of(expr.plan, 0)  # type: ignore[arg-type]  # the expressions' module knows no plans

    def _found(self, plan: LogicalPlan, place: int) -> T:
        match plan:
            case Scan():
                return self.scanned(plan, place)
            case SystemScan():
                return self.system_scanned(plan, place)
            case Values():
                return self.written(plan, place)
            case RecursiveScan():
                return self.recursive(plan, place)
            case Project():
                return self.expression(plan.expressions[place], plan.input)
            case Aggregate():
                grouped = len(plan.group_key)
                if place < grouped:
                    return self.of(plan.input, plan.group_key[place])
                return self.aggregated(plan.calls[place - grouped], plan.input)
            case OverWindow():
                width = len(plan.input.schema)
                if place < width:
                    return self.of(plan.input, place)
                call = plan.calls[place - width]
                passes = call.function in self.window_functions
                return self.expression(call.args[0], plan.input) if passes else self.computed
            case Join() | Apply():
                width = len(plan.left.schema)
                return self.of(plan.left, place) if place < width else self.of(plan.right, place - width)
            case Union():
                return self.unioned([self.of(each, place) for each in plan.inputs])
            case Recursion():
                return self.unioned([self.of(plan.start, place)])
            case Filter() | Sort() | Limit() | TopN():
                return self.of(plan.input, place)
            case ProjectSet() | Expand() | ChangeLog():
                return self.of(plan.input, place) if place < len(plan.input.schema) else self.computed
        return self.computed
