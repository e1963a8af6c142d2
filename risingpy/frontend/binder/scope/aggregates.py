"""Aggregate calls of one SELECT: collected while its expressions are bound, placed by `grouping`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from risingpy.errors import GroupingError
from risingpy.frontend.binder.typing.coercion import Coercer, Context, Operand
from risingpy.frontend.binder.typing.overloads import NoMatch, resolve
from risingpy.frontend.binder.typing.signature_calls import fitting, no_function
from risingpy.frontend.binder.typing.system_casts import with_names
from risingpy.functions.numeric_results import NumericRule, numeric_result
from risingpy.functions.signatures import AGGREGATES, Polymorphic
from risingpy.optimizer.rewrite import is_volatile
from risingpy.plan.expression_trees import walk
from risingpy.plan.expressions import Call, Case, Expr, InputRef, Literal, Subquery
from risingpy.types import DOUBLE, SqlType, TypeKind, array_of

_SPREADS = frozenset(("avg", "variance", "var_samp", "var_pop", "stddev", "stddev_samp", "stddev_pop"))

GROUPING = "grouping"  # a Call of it stands for GROUPING(…) until its groups are known
# A Call of it marks a column in a direct argument of an aggregate WITHIN GROUP. In trees it is the meta key of such a
# column, whose value is the id of the aggregate's scope: a subquery in the argument has columns of its own.
DIRECT = "direct_argument"


@dataclass(frozen=True, slots=True)
class OrderKey:
    """One expression of an aggregate's ORDER BY."""

    expr: Expr
    descending: bool
    nulls_first: bool


@dataclass(frozen=True, slots=True)
class AggregateCall:
    """An aggregate over expressions of the FROM clause's columns; `filter` is a condition or None.

    `definition` is that of a user's aggregate.
    """

    function: str
    args: tuple[Expr, ...]
    type: SqlType
    distinct: bool
    filter: Expr | None
    order_by: tuple[OrderKey, ...] = ()
    definition: str = ""


class AggregateCalls:
    """The calls so far. While binding, call k is written `InputRef(-1 - k)`: grouping gives it its place."""

    def __init__(self) -> None:
        self.calls: dict[AggregateCall, int] = {}  # each call's number, in order
        self.has_grouping = False  # a GROUPING(…) is there
        # What stands in the parentheses before WITHIN GROUP, if it has columns: the same for all rows of a group.
        self.direct: list[Operand] = []
        # Where each column reference stands, for the error about one that is not grouped. References are kept
        # alive so that their ids stay theirs.
        self.references: dict[int, tuple[InputRef, int, str]] = {}
        self.outer_references: set[int] = set()  # those of them that stand in a subquery

    def add(self, call: AggregateCall) -> InputRef:
        """The reference to `call`, one for all equal calls."""
        return InputRef(-1 - self.calls.setdefault(call, len(self.calls)), call.type)

    @property
    def is_grouped(self) -> bool:
        """Whether the SELECT is over groups even without a GROUP BY."""
        return bool(self.calls) or self.has_grouping

    def position_in(self, expr: Expr) -> int | None:
        """Where the first column that `expr` reads stands."""
        found = (self.references.get(id(part)) for part in walk(expr))
        return next((reference[1] for reference in found if reference is not None), None)

    def note(self, reference: InputRef, position: int, shown: str, *, outer: bool = False) -> None:
        self.references[id(reference)] = (reference, position, shown)
        if outer:
            self.outer_references.add(id(reference))


def no_key(position: int | None) -> GroupingError:
    """The error for an argument of GROUPING that is no key of the groups."""
    message = "arguments to GROUPING must be grouping expressions of the associated query level"
    return GroupingError(message, position=position)


def _element(coercer: Coercer, name: str, arg: Operand) -> Expr:
    """An argument of any type. An array of regclass has the names: a client sees no oid as an element."""
    settled = coercer.settled(arg)
    return with_names(settled) if name == "array_agg" else settled


def make_aggregate(
    coercer: Coercer,
    name: str,
    args: Sequence[Operand],
    position: int,
    *,
    distinct: bool,
    condition: Expr | None,
) -> AggregateCall:
    """Resolves an aggregate's overload. Raises UndefinedFunction."""
    if name in _SPREADS and len(args) == 1 and args[0].type.kind is TypeKind.INT256:  # as RisingWave, by floats
        args = [Operand(coercer.coerce(args[0], DOUBLE, Context.EXPLICIT), args[0].where)]
    try:
        signature = resolve(AGGREGATES[name], [a.type for a in args], operator=False)
    except NoMatch as no_match:
        raise no_function(name, args, position, ambiguous=no_match.ambiguous) from None
    exprs = tuple(
        _element(coercer, name, arg)
        if isinstance(wanted, Polymorphic)
        else coercer.coerce(arg, fitting(wanted, arg.type), Context.IMPLICIT)
        for arg, wanted in zip(args, signature.args, strict=True)
    )
    result = signature.result
    if signature.rule is not None:
        result = numeric_result(signature.rule, tuple(e.type for e in exprs))
        if signature.rule in (NumericRule.FIRST, NumericRule.SUM):  # shown with the argument's decimals
            result = replace(result, declared=exprs[0].type.declared)
    elif result is Polymorphic.ARRAY and result not in signature.args:
        result = array_of(exprs[0].type)
    elif isinstance(result, Polymorphic) or result.kind is TypeKind.CHARACTER:  # an argument's own type, or length
        result = exprs[signature.args.index(result)].type
    # DISTINCT changes nothing for these, and the plainer call needs no set of seen values.
    keeps_distinct = distinct and signature.function not in ("min", "max", "bool_and", "bool_or")
    exprs = tuple(where_counted(expr, condition) for expr in exprs)
    return AggregateCall(signature.function, exprs, result, keeps_distinct, condition)


def where_counted(expr: Expr, condition: Expr | None) -> Expr:
    """What a call reads, evaluated where its FILTER holds only: `sum(10 / x) FILTER (WHERE x <> 0)` does not fail.

    Not where the condition costs much or may be another one the second time: a subquery, a volatile function.
    """
    if condition is None or not any(isinstance(part, Call) for part in walk(expr)):
        return expr
    if is_volatile(condition) or any(isinstance(part, Subquery) for part in walk(condition)):
        return expr
    return Case(((condition, expr),), Literal(None, expr.type), expr.type)
