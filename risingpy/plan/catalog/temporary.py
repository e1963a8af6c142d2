"""Relations that a statement makes for itself, while it runs."""

from __future__ import annotations

from risingpy.plan.catalog.relations import MaterializedView, Relation, Subscription


def is_temporary(relation: Relation) -> bool:
    """Whether a statement that runs has made it for itself: no list of relations shows it, and no DROP minds it."""
    return isinstance(relation, MaterializedView | Subscription) and relation.is_temporary
