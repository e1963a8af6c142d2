"""A copy gets the columns that its original has now, at one barrier, as ALTER TABLE would give them.

It is its owner's copy, who may always alter it: nobody is asked for rights. The definition `(*)` stays true.
"""

from __future__ import annotations

import logging
from dataclasses import replace

from risingpy.connectors.pushed import AlteredOriginal
from risingpy.errors import DuplicateColumn, SqlError, UndefinedTable
from risingpy.meta.cancellation import Cancelled
from risingpy.meta.epochs.graph_changes import GraphChanges
from risingpy.meta.schema.alter import TableReplacement
from risingpy.meta.schema.altered_table import replace_altered
from risingpy.meta.state import MetaState
from risingpy.optimizer.table_change import with_column, without_column
from risingpy.plan.catalog import ColumnDesc, Table

LOG = logging.getLogger(__name__)

# The database is down, the wait was cancelled, or a view that is behind still reads the table's earlier changes.
_PASSING = frozenset({"57P03", "57014", "55006"})


def alter_copy(changes: GraphChanges, altered: AlteredOriginal, cancelled: Cancelled) -> str | None:
    """Alters the copy; returns why it cannot be altered. Raises SqlError if it cannot be altered for the moment.

    The caller holds the table's lock, and has waited until epochs have all of the table's logged rows.
    """
    try:
        state = changes.apply(lambda state: with_altered_copy(state, altered), cancelled)
    except UndefinedTable:
        return None  # it was dropped meanwhile, and is none of the source's any more
    except SqlError as error:
        if error.sqlstate in _PASSING:
            raise
        return f"{error}: {error.detail}" if error.detail else str(error)
    names = [*(f"-{name}" for name in altered.dropped), *(f"+{column.name}" for column in altered.added)]
    LOG.info('table "%s" follows its original: %s', state.catalog.relations[altered.table_id].name, ", ".join(names))
    return None


def with_altered_copy(state: MetaState, altered: AlteredOriginal) -> MetaState:
    """`state` with the copy as it is to be; the same one if it is no more what was altered, or has gone.

    Raises DependentObjectsStillExist if something reads a column that goes, DuplicateColumn if a name is taken.
    """
    before = state.catalog.relations.get(altered.table_id)
    if not isinstance(before, Table) or before.upstream is None:
        raise UndefinedTable("the table was dropped meanwhile")
    if before.upstream.shape != altered.shape or {*altered.dropped} - {column.name for column in before.columns}:
        return state
    after = before
    for name in altered.dropped:
        after = without_column(after, [column.name for column in after.columns].index(name))
    for column in altered.added:
        if any(column.name == each.name for each in after.columns):
            raise DuplicateColumn(f'column "{column.name}" of relation "{after.name}" already exists')
        after = with_column(after, ColumnDesc(0, column.name, column.type), column.missing)
    after = replace(after, upstream=replace(before.upstream, shape=altered.new_shape))
    return replace_altered(state, TableReplacement(after, cascade=False))[0]
