"""The condition of an ASOF JOIN: equalities, and one inequality by which the nearest row is chosen."""

from __future__ import annotations

from risingpy.errors import FeatureNotSupported
from risingpy.executors.expression.nodes import Expr
from risingpy.optimizer.join_condition import equi_key, inequality
from risingpy.optimizer.logical import JoinKind
from risingpy.optimizer.rewrite import columns_read, conjuncts


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


def as_of_condition_error(position: int | None) -> FeatureNotSupported:
    """What an ASOF JOIN must look like."""
    return FeatureNotSupported(
        "an ASOF JOIN needs equalities and exactly one inequality between its sides",
        hint="For example, ON a.k = b.k AND a.at >= b.at.",
        position=position,
    )
