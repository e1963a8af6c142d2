"""ADD COLUMN whose values differ from row to row: numbers of a sequence, values of volatile functions, generated ones.

The column comes without values; then all rows are written again with theirs, and looked at for what the column
promises. All of it is one transaction: nobody sees a part of it, and a server that stops has none of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from risingpy.errors import FeatureNotSupported
from risingpy.frontend.binder import BoundAlterTable
from risingpy.frontend.binder.ddl.create import bind_default
from risingpy.frontend.binder.query.relations import scan
from risingpy.frontend.parser.ast_alter import AlterAction
from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.statements.filled.new_key import add_key
from risingpy.frontend.statements.transactions.one_transaction import one_transaction
from risingpy.frontend.written_rows import completed, write_rewritten
from risingpy.optimizer.rules import optimize
from risingpy.plan.catalog import Table
from risingpy.plan.logical import Field, Sort, SortKey

Replace = Callable[[StatementContext, Table, BoundAlterTable], None]
"""Puts the table's new form in its place."""
Alter = Callable[[StatementContext, Table, Sequence[AlterAction]], None]
"""Takes more actions on the table."""


def replace_filled(
    session: StatementContext, relation: Table, bound: BoundAlterTable, put: Replace, alter: Alter
) -> None:
    """`put` the new form in the table's place, fill its new columns, and then `alter` it as these promise."""
    if bound.changes is not None and bound.changes.rekeys:
        message = "a new column with values of its own together with another type of a key's column is not supported"
        raise FeatureNotSupported(message, hint="Change the type in a statement of its own.")
    table_id = relation.relation_id
    with one_transaction(session):
        put(session, relation, bound)
        _fill(session, _now(session, table_id), bound.filled)
        if bound.later:
            alter(session, _now(session, table_id), bound.later)
        if bound.key is not None:
            add_key(session, _now(session, table_id), bound.key)


def _now(session: StatementContext, table_id: int) -> Table:
    table = session.database.reads.catalog.relations[table_id]
    assert isinstance(table, Table)
    return table


def _fill(session: StatementContext, table: Table, filled: Sequence[int]) -> None:
    """Writes each row again with the values of the new columns, in the order of the key, or of their coming."""
    key = table.primary_key or (len(table.columns) - 1,)  # without a key, `_row_id` is the last column
    order = tuple(SortKey(place) for place in key)
    plan = optimize(Sort(scan(table), order), session.check)
    old = session.run_to_table(session.planned(plan), ()).rename_columns([f"c{i}" for i in range(len(table.columns))])
    if not old.num_rows:
        return
    new = old
    for place, column in enumerate(table.columns):
        if column.column_id in filled and column.generated is None:
            default = bind_default(column, session.database.reads.catalog, session=session.session_values())
            assert default is not None
            values = session.evaluate([default], (Field("c0", column.type),), old, ())
            new = new.set_column(place, f"c{place}", values.column(0))
    # Foreign keys to the rows hold as before: no column is another one but those that are new.
    write_rewritten(session, table, old, completed(session, table, new), looks_at_keys=False)
