"""ALTER COLUMN … TYPE of a column in the primary key: all rows are written to a copy, which replaces the table.

The key says where rows are stored. The copy takes over what refers to the table: see `meta/schema/primary_key.py`.
"""

from __future__ import annotations

from dataclasses import replace

from risingpy.errors import FeatureNotSupported
from risingpy.frontend.binder import BoundAlterTable
from risingpy.frontend.binder.ddl.alter_constraints import ConstraintChanges
from risingpy.frontend.constraints.changes import key_changes, related_tables
from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.statements.filled.filling import replace_by_copy
from risingpy.frontend.statements.jobs.new_view import anew
from risingpy.frontend.statements.row_checks import check_rows
from risingpy.frontend.table_definition import table_definition
from risingpy.meta.schema.primary_key import NewKey, refuse_readers
from risingpy.meta.writing.table_locks import LockMode
from risingpy.optimizer.rules import optimize
from risingpy.plan.catalog import Table


def replace_rekeyed(
    session: StatementContext, relation: Table, bound: BoundAlterTable, changes: ConstraintChanges
) -> None:
    """Puts the table's new form in the place of `relation`, once its rows have passed the checks and are copied.

    Readers see the table as it was meanwhile, and writers wait.
    """
    database, process_id = session.database, session.startup.process_id
    is_added = changes.added or any(not each.constraint_id for each in bound.relation.constraints)
    if is_added or changes.dropped or changes.renamed:
        message = "a change of constraints together with one of the type of a key's column is not supported"
        raise FeatureNotSupported(message, hint="Change the type in a statement of its own.")
    definition = table_definition(bound.relation, (), database.reads.catalog.relations)
    form = replace(bound.relation, definition=definition)
    key = tuple(form.columns[place].column_id for place in form.primary_key)
    name, keys = form.key_name, key_changes(form, changes)
    change = NewKey(relation, key, definition, anew(session.check), name, form=form, keys=keys)
    rows = session.planned(optimize(changes.rows_anew(form), session.check))
    children = {child.relation_id for child, _ in database.reads.catalog.foreign_keys_to(relation.relation_id)}
    others = related_tables(form, changes) | (children - {relation.relation_id})
    related = database.writes.locks.held(others, LockMode.ALONE, session.cancelled, process_id=process_id)
    with related, database.writes.table_lock(relation.relation_id, session.cancelled, process_id=process_id):
        database.reads.wait_for_lsn(database.writes.last_lsn, session.cancelled)
        refuse_readers(database.reads.state, change)
        for check in bound.checks:
            check_rows(session, check)
        replace_by_copy(session, change, rows)
