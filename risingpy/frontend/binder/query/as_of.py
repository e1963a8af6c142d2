"""The condition of an ASOF JOIN: equalities, one inequality by which the nearest row is chosen, and a tolerance.

    ON a.k = b.k AND a.at >= b.at AND a.at - b.at <= INTERVAL '5 minutes'

A tolerance bounds how far the nearest row may be: if it holds for a row, it holds for all that are nearer. So the
nearest of the rows within it is the nearest of all, if that is within it, and the join without it finds that one.
"""

from __future__ import annotations

from dataclasses import dataclass

from risingpy.errors import FeatureNotSupported
from risingpy.optimizer.join_condition import Inequality, equi_key, inequality
from risingpy.plan.expression_trees import columns_read, conjunction, conjuncts, shifted
from risingpy.plan.expressions import Call, Case, Cast, Expr, InputRef, Literal
from risingpy.plan.logical import Aggregate, Filter, Join, JoinKind, LogicalPlan, Project, Scan

_BACKWARD = (">", ">=")  # the nearest right row is the last one of those before the left row
_DIFFERENCES = ("subtract", "difference")
# Functions of a time or number and a step that does not depend on the row.
_STEPS_BACK = frozenset({"subtract", "timestamp_minus", "timestamptz_minus", "date_minus_days"})
_STEPS = frozenset(
    {"add", "timestamp_plus", "interval_plus_timestamp", "timestamptz_plus", "interval_plus_timestamptz"}
    | {"date_plus_days", "days_plus_date"}
)
# Casts among these never turn an order round: numbers, and times.
_SAME_ORDER = (
    frozenset({"smallint", "integer", "bigint", "numeric", "real", "double precision"}),
    frozenset({"date", "timestamp without time zone"}),
)


@dataclass(frozen=True, slots=True)
class AsOfCondition:
    """`nearest` has the equalities, the inequality and the filters of a side; `tolerance` is None without one."""

    nearest: Expr
    tolerance: Expr | None


def as_of_condition(condition: Expr, left_width: int, kind: JoinKind, position: int | None) -> AsOfCondition:
    """Splits the condition. Raises FeatureNotSupported unless it is of that form.

    A part that reads one side alone is a filter on that side; not on the left side of ASOF LEFT, which keeps its rows.
    """
    parts = conjuncts(condition)
    unequal = [part for part in parts if inequality(part, left_width) is not None]
    found = [each for part in unequal if (each := _chosen_by(part, parts, left_width, kind)) is not None]
    if len(found) > 1:  # a.at >= b.at AND a.at <= b.at + 5: each could bound the other, and one is of plain columns
        plain = [_chosen_by(part, parts, left_width, kind) for part in unequal if _is_plain(part)]
        found = [each for each in plain if each is not None]
    if len(found) != 1:
        raise as_of_condition_error(position)
    return found[0]


def _chosen_by(chosen: Expr, parts: list[Expr], left_width: int, kind: JoinKind) -> AsOfCondition | None:
    """The condition, if the inequality `chosen` is that by which the nearest row is chosen."""
    bounds = [part for part in parts if part is not chosen and _is_tolerance(part, chosen, left_width)]
    nearest = [part for part in parts if part not in bounds]
    whole = conjunction(nearest)
    if whole is None or not _is_nearest(nearest, left_width, kind):
        return None
    return AsOfCondition(whole, conjunction(bounds))


def _is_plain(part: Expr) -> bool:
    """Whether the inequality compares two columns, perhaps cast to a common type."""
    match part:
        case Call(_, (first, second)):
            return all(isinstance(_without_casts(each), InputRef) for each in (first, second))
    return False


def _without_casts(expr: Expr) -> Expr:
    while isinstance(expr, Cast):
        expr = expr.arg
    return expr


def within(join: Join, tolerance: Expr | None) -> LogicalPlan:
    """The join without the pairs beyond the tolerance; a left row of ASOF LEFT stays, without its partner."""
    if tolerance is None:
        return join
    if join.kind is JoinKind.ASOF:
        return Filter(join, tolerance)
    width = len(join.left.schema)
    columns: list[Expr] = [InputRef(i, field.type) for i, field in enumerate(join.schema)]
    kept = [Case(((tolerance, each),), Literal(None, each.type), each.type) for each in columns[width:]]
    return Project(join, (*columns[:width], *kept), join.schema)


def _is_nearest(parts: list[Expr], left_width: int, kind: JoinKind) -> bool:
    nearest = equal = 0
    for part in parts:
        read = columns_read(part)
        is_right = bool(read) and min(read) >= left_width
        is_left = bool(read) and max(read) < left_width
        if inequality(part, left_width) is not None:
            nearest += 1
        elif equi_key(part, left_width) is not None:
            equal += 1
        elif not is_right and not (is_left and kind is JoinKind.ASOF):
            return False
    return nearest == 1 and equal > 0


def _is_tolerance(part: Expr, chosen: Expr, left_width: int) -> bool:
    """Whether the part, if it holds for a right row, holds for all that are nearer by the inequality `chosen`."""
    nearest = inequality(chosen, left_width)
    assert nearest is not None
    column = _risen(nearest.right)
    if column is None:
        return False
    bound = inequality(part, left_width)
    if bound is not None:
        is_opposite = (bound.comparison in _BACKWARD) != (nearest.comparison in _BACKWARD)
        return is_opposite and _risen(bound.right) == column
    return _bounds_difference(part, nearest, column, left_width)


def _bounds_difference(part: Expr, nearest: Inequality, column: int, left_width: int) -> bool:
    """`a.at - b.at <= x`, or `x >= a.at - b.at`; of rows after the left one, `b.at - a.at <= x`."""
    match part:
        case Call("le" | "lt", (Call(function, (first, second)), most)) if function in _DIFFERENCES:
            pass
        case Call("ge" | "gt", (most, Call(function, (first, second)))) if function in _DIFFERENCES:
            pass
        case _:
            return False
    left, right = (first, second) if nearest.comparison in _BACKWARD else (second, first)
    reads_left = all(read < left_width for each in (left, most) for read in columns_read(each))
    is_right = all(read >= left_width for read in columns_read(right))
    return reads_left and is_right and _risen(shifted(right, -left_width)) == column


def _risen(expr: Expr) -> int | None:
    """The only column that the expression reads, if the expression rises with it."""
    match expr:
        case InputRef(index):
            return index
        case Cast(operand, type_) if any({operand.type.name, type_.name} <= same for same in _SAME_ORDER):
            return _risen(operand)
        case Call("numeric_key", (operand,)):  # keys have the order of the numbers
            return _risen(operand)
        case Call(function, (first, *rest)) if function in _STEPS | _STEPS_BACK:
            if not any(map(columns_read, rest)):
                return _risen(first)
            is_second = function in _STEPS and not columns_read(first) and not any(map(columns_read, rest[1:]))
            return _risen(rest[0]) if is_second else None
    return None


def tie_columns(right: LogicalPlan) -> tuple[int, ...]:
    """By which columns of the right side the first of equally near rows is found: its key, else all.

    RisingWave takes the first by the key too. Rows that agree in all their columns cannot be told apart.
    """
    key = _key(right)
    if key is not None:
        return key
    return tuple(i for i, field in enumerate(right.schema) if field.type.is_in_keys and not field.type.has_json)


def _key(plan: LogicalPlan) -> tuple[int, ...] | None:
    """Columns that tell the plan's rows apart; None if they are not among its columns."""
    match plan:
        case Scan():
            return plan.key or None
        case Filter():
            return _key(plan.input)
        case Aggregate(group_key=(_, *_)):
            return tuple(range(len(plan.group_key)))
        case Project():
            below = _key(plan.input)
            places = {expr.index: i for i, expr in enumerate(plan.expressions) if isinstance(expr, InputRef)}
            return tuple(places[i] for i in below) if below is not None and set(below) <= places.keys() else None
    return None


def as_of_condition_error(position: int | None) -> FeatureNotSupported:
    """What an ASOF JOIN must look like."""
    return FeatureNotSupported(
        "an ASOF JOIN needs equalities and exactly one inequality between its sides",
        hint="For example, ON a.k = b.k AND a.at >= b.at. It may have a tolerance, too: AND a.at - b.at <= 5.",
        position=position,
    )
