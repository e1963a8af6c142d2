"""Constraints as the meta service adds, drops and renames them: unique indexes, with the text that shows them."""

from __future__ import annotations

from collections.abc import Sequence

from risingpy.frontend.binder.ddl.alter_constraints import ConstraintChanges
from risingpy.frontend.binder.ddl.constraints import OWN_TABLE, BoundUnique
from risingpy.frontend.table_definition import quoted
from risingpy.meta.schema.constraints import KeyChanges, NewUnique, RemadeKey
from risingpy.plan.catalog import ForeignKey, Table


def new_uniques(schema_name: str, table_name: str, uniques: Sequence[BoundUnique]) -> tuple[NewUnique, ...]:
    """The unique indexes of a table, which is called so."""
    return tuple(
        NewUnique(each.name, each.definition, each.text or _text(schema_name, table_name, each)) for each in uniques
    )


def key_changes(table: Table, changes: ConstraintChanges | None) -> KeyChanges:
    """What ALTER TABLE changes besides the table itself."""
    if changes is None:
        return KeyChanges()
    added = new_uniques(table.schema_name, table.name, changes.added)
    remade = tuple(RemadeKey(each.index.relation_id, each.definition, each.text) for each in changes.remade)
    return KeyChanges(
        *(added, tuple(changes.dropped), tuple(changes.renamed.items()), tuple(changes.lost)),
        remade=remade,
        refitted=tuple(changes.refitted),
    )


def related_tables(table: Table, changes: ConstraintChanges | None) -> set[int]:
    """The other tables that are changed with the table.

    Those to which it has new foreign keys, or lost ones, and those whose foreign keys refer to columns that change.
    """
    if changes is None:
        return set()
    before = {key for key in changes.stored.constraints if isinstance(key, ForeignKey)}
    now = {key for key in table.constraints if isinstance(key, ForeignKey)}
    related = {key.table_id for key in before ^ now} | {table_id for table_id, _ in (*changes.lost, *changes.refitted)}
    return related - {OWN_TABLE, table.relation_id}


def _text(schema_name: str, table_name: str, unique: BoundUnique) -> str:
    rule = unique.definition.unique
    assert rule is not None
    keys = ", ".join(quoted(key.text) for key in unique.definition.keys)
    nulls = "" if rule.nulls_distinct else " NULLS NOT DISTINCT"
    owner = f"{quoted(schema_name)}.{quoted(table_name)}"
    return f"CREATE UNIQUE INDEX {quoted(unique.name)} ON {owner} ({keys}){nulls}"
