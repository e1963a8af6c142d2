"""The condition of an ASOF JOIN: equalities, and one inequality by which the nearest row is chosen."""

from __future__ import annotations

from risingpy.errors import FeatureNotSupported
from risingpy.optimizer.join_condition import equi_key, inequality
from risingpy.plan.expression_trees import columns_read, conjuncts
from risingpy.plan.expressions import Expr, InputRef
from risingpy.plan.logical import Aggregate, Filter, JoinKind, LogicalPlan, Project, Scan


def check_as_of_condition(condition: Expr, left_width: int, kind: JoinKind, position: int | None) -> None:
    """Raises FeatureNotSupported unless the condition is of that form.

    A part that reads one side alone is a filter on that side; not on the left side of ASOF LEFT, which keeps its rows.
    """
    nearest = equal = 0
    for part in conjuncts(condition):
        read = columns_read(part)
        is_right = bool(read) and min(read) >= left_width
        is_left = bool(read) and max(read) < left_width
        if inequality(part, left_width) is not None:
            nearest += 1
        elif equi_key(part, left_width) is not None:
            equal += 1
        elif not is_right and not (is_left and kind is JoinKind.ASOF):
            raise as_of_condition_error(position)
    if nearest != 1 or not equal:
        raise as_of_condition_error(position)


def tie_columns(right: LogicalPlan) -> tuple[int, ...]:
    """By which columns of the right side the first of equally near rows is found: its key, else all.

    RisingWave takes the first by the key too. Rows that agree in all their columns cannot be told apart.
    """
    key = _key(right)
    if key is not None:
        return key
    return tuple(i for i, field in enumerate(right.schema) if field.type.is_in_keys)


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
        hint="For example, ON a.k = b.k AND a.at >= b.at.",
        position=position,
    )
