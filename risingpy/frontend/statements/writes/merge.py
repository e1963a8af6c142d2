"""MERGE: locks the table alone, joins it with the source, and logs the rows that go and those that come."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from risingpy.batch import group_by_key
from risingpy.errors import CardinalityViolation
from risingpy.frontend import binder
from risingpy.frontend.binder import BoundMerge
from risingpy.frontend.binder.ddl.create import visible_columns
from risingpy.frontend.binder.dml.merge import MergeAction
from risingpy.frontend.command import Command, Parameters
from risingpy.frontend.constraints.guarded import guarded
from risingpy.frontend.parser.ast import Merge, ParsedStatement
from risingpy.frontend.results import CommandTag, Result
from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.statements.writes.locked_write import locked
from risingpy.frontend.unique_keys import check_unique
from risingpy.frontend.written_rows import check_writable, completed, inserted, write_rewritten
from risingpy.optimizer.rules import optimize
from risingpy.plan.catalog import Catalog, Table
from risingpy.types import SqlType


def bind(
    session: StatementContext, parsed: ParsedStatement, statement: Merge, parameter_types: Sequence[SqlType]
) -> Command:
    """The tag counts the rows that were updated, deleted and inserted.

    Raises CardinalityViolation (21000) if two source rows change one row, SqlError (23505) for a key that stands.
    """

    def bind_on(catalog: Catalog) -> BoundMerge:
        path, values = session.search_path(), session.session_values()
        return binder.bind_merge(statement, catalog, path, parameter_types, session=values)

    catalog = session.database.reads.catalog
    planned = bind_on(catalog)
    planned_query = session.planned(optimize(planned.plan, session.check), catalog)

    def run(parameters: Parameters) -> Result:
        check_writable(session, "MERGE")
        with guarded(session, planned.relation), locked(session, planned, bind_on) as bound:
            query = planned_query if bound is planned else session.planned(optimize(bound.plan, session.check))
            found = session.run_to_table(query, parameters)
            old, coming, deleted = _outcome(session, bound, found)
            write_rewritten(session, bound.relation, old, coming, deleted)
        return Result(CommandTag("MERGE", found.num_rows))

    return Command(run, None, planned.parameter_types)


def _outcome(session: StatementContext, bound: BoundMerge, found: pa.Table) -> tuple[pa.Table, pa.Table, pa.Table]:
    """Of the pairs about which a clause decides: the updated rows, their new forms and new rows, the deleted rows."""
    relation, width = bound.relation, len(bound.relation.columns)
    old, new = (_columns(found, first, width) for first in (0, width))
    clause = found.column(2 * width).to_numpy()
    updates, deletes, inserts = (
        np.isin(clause, [number for number, each in enumerate(bound.actions) if each is action])
        for action in (MergeAction.UPDATE, MergeAction.DELETE, MergeAction.INSERT)
    )
    going = old.filter(pa.array(updates | deletes))
    _check_once(relation, going)
    updated = completed(session, relation, new.filter(pa.array(updates)))
    visible = new.filter(pa.array(inserts)).select([f"c{index}" for index in visible_columns(relation)])
    coming = pa.concat_tables([updated, inserted(session, relation, visible)])
    if relation.primary_key and coming.num_rows:
        check_unique(session, relation, going, coming)
    return old.filter(pa.array(updates)), coming, old.filter(pa.array(deletes))


def _check_once(relation: Table, rows: pa.Table) -> None:
    _, firsts = group_by_key(relation, rows)
    if len(firsts) < rows.num_rows:
        raise CardinalityViolation(
            "MERGE command cannot affect row a second time",
            hint="Ensure that not more than one source row matches any one target row.",
        )


def _columns(found: pa.Table, first: int, width: int) -> pa.Table:
    return pa.table(found.columns[first : first + width], names=[f"c{index}" for index in range(width)])
