"""DROP of what a foreign key refers to, or of the index that a UNIQUE constraint is."""

from __future__ import annotations

from collections.abc import Sequence

from risingpy.errors import DependentObjectsStillExist
from risingpy.meta.state import MetaState
from risingpy.plan.catalog import CreatedRelation, ForeignKey, Index, Table


def refuse_needed_keys(
    state: MetaState, dropped: Sequence[CreatedRelation], everything: Sequence[CreatedRelation], *, cascade: bool
) -> list[str]:
    """Notices of the foreign keys of other tables that go, too. Raises DependentObjectsStillExist without CASCADE."""
    gone = {relation.relation_id for relation in everything}
    for index in dropped:
        rule = index.index.unique if isinstance(index, Index) else None
        if rule is not None and rule.is_constraint and isinstance(index, Index):
            table = state.catalog.indexed_by(index)
            if table.relation_id not in gone:
                what = f"constraint {index.name} on table {table.name}"
                raise DependentObjectsStillExist(
                    f"cannot drop index {index.name} because {what} requires it",
                    hint=f"You can drop {what} instead.",
                )
    readers = [
        (child, key, needed)
        for child in state.catalog.relations.values()
        if isinstance(child, Table) and child.relation_id not in gone
        for key in child.constraints
        if isinstance(key, ForeignKey)
        for needed in dropped
        if needed.relation_id in (key.table_id, key.index_id)
    ]
    if readers and not cascade:
        first = readers[0][2]
        raise DependentObjectsStillExist(
            f"cannot drop {first.noun} {first.name} because other objects depend on it",
            detail="\n".join(
                f"constraint {key.name} on table {child.name} depends on {needed.noun} {needed.name}"
                for child, key, needed in readers
            ),
            hint="Use DROP ... CASCADE to drop the dependent objects too.",
        )
    return [f"drop cascades to constraint {key.name} on table {child.name}" for child, key, _ in readers]
