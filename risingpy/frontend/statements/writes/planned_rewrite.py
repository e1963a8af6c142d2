"""The plan of an UPDATE or DELETE, which is made again if the table is altered before the statement has its lock."""

from __future__ import annotations

from dataclasses import dataclass

from risingpy.batch import PreparedQuery, RowRewrite, row_rewrite
from risingpy.frontend.binder import BoundRewrite
from risingpy.frontend.statement_context import StatementContext
from risingpy.meta.writing.row_keys import log_has_newest_rows
from risingpy.optimizer.rules import optimize


@dataclass(frozen=True, slots=True)
class PlannedRewrite:
    """`query` gives the rows of `bound.plan`. With `by_key`, the statement changes one row and may lock it alone.

    `of_row` then computes what becomes of the row, which it is given.
    """

    bound: BoundRewrite
    query: PreparedQuery
    by_key: RowRewrite | None
    of_row: PreparedQuery

    def for_form(self, session: StatementContext, bound: BoundRewrite) -> PlannedRewrite:
        """This plan, or that of the statement as it was bound again."""
        return self if bound is self.bound else planned_rewrite(session, bound)


def planned_rewrite(session: StatementContext, bound: BoundRewrite) -> PlannedRewrite:
    """The plan of a statement. Raises StalePlan if it was bound on another form of a relation."""
    catalog = session.database.reads.catalog
    optimized = optimize(bound.plan, session.check)
    by_key = None
    if log_has_newest_rows(catalog, bound.relation):
        by_key = row_rewrite(optimized, bound.relation, has_new=bound.has_new)
    query = session.planned(optimized, catalog)
    return PlannedRewrite(bound, query, by_key, query if by_key is None else session.planned(by_key.query, catalog))
