"""Removes ties from the right side of an ASOF join: of several nearest rows, DuckDB would take any."""

from __future__ import annotations

from dataclasses import dataclass

from risingpy.optimizer.join_condition import equi_key, inequality
from risingpy.plan.expression_trees import columns_read, conjunction, conjuncts, shifted
from risingpy.plan.expressions import Expr, InputRef
from risingpy.plan.logical import Join, SortKey


@dataclass(frozen=True, slots=True)
class TiesDecided:
    """Keeps, of the right rows that satisfy `condition`, the first by `order` for each value of `alike`.

    All three read the right columns.
    """

    condition: Expr | None
    alike: tuple[Expr, ...]
    order: tuple[SortKey, ...]


def ties_decided(join: Join) -> TiesDecided | None:
    """How to remove the ties of a join's right side; None if no two rows can be equally near."""
    if not join.ties or join.condition is None:
        return None
    split = len(join.left.schema)
    alike: list[Expr] = []
    own: list[Expr] = []
    for part in conjuncts(join.condition):
        read = columns_read(part)
        key = equi_key(part, split) or inequality(part, split)
        if key is not None:
            alike.append(key.right)
        elif read and min(read) >= split:
            own.append(shifted(part, -split))
    if set(join.ties) <= {expr.index for expr in alike if isinstance(expr, InputRef)}:
        return None
    order = tuple(SortKey(i, descending=False, nulls_first=False) for i in join.ties)
    return TiesDecided(conjunction(own), tuple(alike), order)
