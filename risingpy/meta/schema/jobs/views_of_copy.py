"""The materialized views of a table that a copy replaces: each is built anew over the copy, beside the old one.

A view's state tells the table's rows apart by the table's key, which is another one in the copy. All copies take the
places of what they were made of in one change; until then everybody reads the table and its views as they were.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from risingpy.meta.schema.jobs.replacing import beside
from risingpy.meta.schema.relations import NewMaterializedView, add_materialized_view, with_all_readers
from risingpy.meta.state import MetaState
from risingpy.optimizer.estimated_rows import TableRows
from risingpy.optimizer.repoint import repointed_view, rescanned_view
from risingpy.plan.catalog import Catalog, CreatedRelation, JobRelation, JobStatus, MaterializedView, Table, View

Anew: TypeAlias = Callable[[MaterializedView, Catalog], NewMaterializedView]
"""A view's query, bound in a catalog in which the copies stand in the places of what they replace."""
Copies: TypeAlias = tuple[tuple[int, int], ...]
"""The ids of what is replaced and of its copy: the table first, and each view after what it reads."""


def with_copied_views(
    state: MetaState, table: Table, copy: Table, anew: Anew, table_rows: TableRows
) -> tuple[MetaState, Copies]:
    """`state` with a copy, in creation, of each materialized view that reads the table, over the table's copy."""
    copies = [(table.relation_id, copy.relation_id)]
    for view in reversed(with_all_readers(state, [table])):
        if not isinstance(view, MaterializedView):
            continue
        seen = replace(state.catalog, relations=_as_if_created(in_place(state.catalog.relations, copies)))
        replaced = dict(copies)
        reading = replace(view, depends_on=tuple(replaced.get(each, each) for each in view.depends_on))
        new = anew(reading, seen.seen_from(view.database_id))
        read = tuple(state.catalog.relations[each.relation_id] for each in new.depends_on)
        # The copy is in the table's schema meanwhile: the view's may be one of another database.
        new = beside(replace(new, depends_on=read, schema_name=table.schema_name))
        state, (copy_id, _) = add_materialized_view(state, new, table_rows)
        copies.append((view.relation_id, copy_id))
    return state, tuple(copies)


def in_place(relations: Mapping[int, CreatedRelation], copies: Sequence[tuple[int, int]]) -> dict[int, CreatedRelation]:
    """The relations, each copy under the name of what it replaces, which is gone. Plain views read the copies."""
    pairs = [(relations[before], _named(relations[before], relations[copy])) for before, copy in copies]
    replaced = {before.relation_id: after for before, after in pairs}
    changed = {key: each for key, each in relations.items() if key not in replaced}
    changed |= {after.relation_id: after for after in replaced.values()}
    for view in relations.values():
        if isinstance(view, View):  # all of them: a view over a view has the table's scan in its plan too
            changed[view.relation_id] = _reading(view, pairs)
    return changed


def _named(before: CreatedRelation, copy: CreatedRelation) -> CreatedRelation:
    """The copy with the name, the owner and the rights of what it replaces."""
    named = replace(copy, name=before.name, schema_name=before.schema_name, database_id=before.database_id)
    named = replace(named, owner=before.owner, acl=before.acl, column_acls=before.column_acls)
    return replace(named, is_temporary=False) if isinstance(named, MaterializedView) else named


def _reading(view: View, pairs: Sequence[tuple[CreatedRelation, CreatedRelation]]) -> View:
    replaced = {before.relation_id: after.relation_id for before, after in pairs}
    plan = view.plan
    for before, after in pairs:
        if plan is not None:
            plan = rescanned_view(plan, before.relation_id, after.relation_id)
            places = {column.name: place for place, column in enumerate(after.columns) if not column.hidden}
            shown = ((i, column) for i, column in enumerate(before.columns) if not column.hidden)
            plan = repointed_view(plan, after, {i: places[column.name] for i, column in shown})
    depends_on = tuple(sorted(replaced.get(each, each) for each in view.depends_on))
    return (
        view if (depends_on, plan) == (view.depends_on, view.plan) else replace(view, depends_on=depends_on, plan=plan)
    )


def _as_if_created(relations: Mapping[int, CreatedRelation]) -> dict[int, CreatedRelation]:
    return {
        key: replace(each, status=JobStatus.CREATED)
        if isinstance(each, JobRelation) and each.is_being_created
        else each
        for key, each in relations.items()
    }
