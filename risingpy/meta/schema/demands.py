"""What a statement must be allowed to do, as the state says that its change changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from risingpy.meta.epochs.graph_changes import GraphChange
from risingpy.meta.state import MetaState

Demand = Callable[[MetaState], None]
"""Raises InsufficientPrivilege unless a statement may be done in a state."""


def allowed(change: GraphChange, demands: Sequence[Demand]) -> GraphChange:
    """The change, which is made only of a state in which all demands hold."""
    if not demands:
        return change

    def changed(state: MetaState) -> MetaState:
        for demand in demands:
            demand(state)
        return change(state)

    return changed
