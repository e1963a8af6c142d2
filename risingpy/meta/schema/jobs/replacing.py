"""CREATE OR REPLACE MATERIALIZED VIEW: the new view is built beside the old one, and takes its place in one change."""

from __future__ import annotations

import uuid
from dataclasses import replace

from risingpy.errors import DependentObjectsStillExist, SerializationFailure
from risingpy.meta.durable_state import without_relation
from risingpy.meta.schema.relations import NewMaterializedView, with_all_readers
from risingpy.meta.state import MetaState
from risingpy.plan.catalog import CreatedRelation, MaterializedView, is_temporary


def beside(view: NewMaterializedView) -> NewMaterializedView:
    """The view as it is built beside the one that it will replace: nobody sees it, and a restart removes it."""
    return replace(view, name=f"{view.name} (new {uuid.uuid4().hex[:12]})", is_temporary=True)


def refuse_readers(state: MetaState, replaced: CreatedRelation) -> None:
    """Raises DependentObjectsStillExist if something reads the view: it has state of the rows that would go."""
    readers = [each for each in state.catalog.dependents(replaced.relation_id) if not is_temporary(each)]
    if readers:
        lines = [f"{each.noun} {each.name} depends on {replaced.noun} {replaced.name}" for each in readers]
        hint = "Create the new view under another name, with what is to read it, and exchange them by SWAP WITH."
        message = f"cannot replace {replaced.noun} {replaced.name} because other objects depend on it"
        raise DependentObjectsStillExist(message, detail="\n".join(lines), hint=hint)


def with_replaced(state: MetaState, replaced_id: int, new_id: int, name: str) -> MetaState:
    """`state` in which a view that was built beside another has its name, owner and rights, and the other is gone."""
    old, new = state.catalog.relations.get(replaced_id), state.catalog.relations.get(new_id)
    if not isinstance(old, MaterializedView) or not isinstance(new, MaterializedView) or old.name != name:
        raise SerializationFailure(f'materialized view "{name}" changed meanwhile', hint="Run the statement again.")
    refuse_readers(state, old)
    for each in with_all_readers(state, [old]):  # those that run SUBSCRIBE
        state = without_relation(state, each)
    taken = replace(
        new,
        schema_name=old.schema_name,
        name=old.name,
        owner=old.owner,
        acl=old.acl,
        column_acls=old.column_acls,
        is_temporary=False,
    )
    relations = {**state.catalog.relations, new_id: taken}
    return replace(state, catalog=replace(state.catalog, version=state.catalog.version + 1, relations=relations))
