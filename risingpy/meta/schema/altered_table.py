"""ALTER TABLE as a whole, as a function from one `MetaState` to the next: the table's form, and its constraints.

A change of constraints alone leaves the table's job, its version and its readers as they are. It changes `rules` of the
table and of those to which its foreign keys refer: statements that were planned before are planned again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from risingpy.meta.schema import alter
from risingpy.meta.schema.alter import TableReplacement, check_unchanged
from risingpy.meta.schema.constraints import (
    referred_tables,
    with_constraint_ids,
    with_relations,
    with_remade,
    with_uniques,
    without_lost_keys,
)
from risingpy.meta.state import MetaState
from risingpy.plan.catalog import Table


def replace_altered(state: MetaState, change: TableReplacement) -> tuple[MetaState, tuple[str, ...]]:
    """(`state` with the table as it is to be, notices). New unique indexes are in creation."""
    before = check_unchanged(state, change.relation)
    notices: tuple[str, ...] = ()
    table_id = before.relation_id
    catalog = state.catalog
    state = without_lost_keys(state, change.keys)  # first: a column that goes is a key of an index that does
    if change.changes_form:
        state, notices = alter.replace_table(state, change)
    else:
        wanted = change.relation
        after = replace(before, constraints=wanted.constraints, key_name=wanted.key_name, definition=wanted.definition)
        state = with_relations(state, [after])
    if change.keys.remade or change.keys.refitted:
        state = with_remade(state, catalog, table_id, change.keys)
    state = with_uniques(state, table_id, change.keys.added)
    state = with_constraint_ids(state, table_id)
    now = state.catalog.relations[table_id]
    assert isinstance(now, Table)
    related = referred_tables(before.constraints, now.constraints) | {child for child, _ in change.keys.lost}
    related |= {child for child, _ in change.keys.refitted}
    return with_new_rules(state, {table_id, *related}), notices


def with_new_rules(state: MetaState, table_ids: Iterable[int]) -> MetaState:
    """`state` in which other constraints hold for these tables."""
    found = [state.catalog.relations.get(table_id) for table_id in table_ids]
    changed = [replace(each, rules=each.rules + 1) for each in found if isinstance(each, Table)]
    state = with_relations(state, changed)
    return replace(state, catalog=replace(state.catalog, version=state.catalog.version + 1))
