"""The plan of an UPDATE or DELETE, which is made again if the table is altered before the statement has its lock."""

from __future__ import annotations

from dataclasses import dataclass

from risingpy.batch import PreparedQuery, RowRewrite, row_rewrite
from risingpy.frontend.binder import BoundRewrite
from risingpy.frontend.statement_context import StatementContext
from risingpy.meta.writing.row_keys import has_row_keys
from risingpy.optimizer.rules import optimize
from risingpy.plan.catalog import Catalog, Table
from risingpy.plan.operators import ConflictBehavior


@dataclass(frozen=True, slots=True)
class PlannedRewrite:
    """`query` gives the rows of `bound.plan`. With `by_key`, the statement changes one row and may lock it alone."""

    bound: BoundRewrite
    query: PreparedQuery
    by_key: RowRewrite | None

    def for_form(self, session: StatementContext, bound: BoundRewrite) -> PlannedRewrite:
        """This plan, or that of the statement as it was bound again."""
        return self if bound is self.bound else planned_rewrite(session, bound)


def planned_rewrite(session: StatementContext, bound: BoundRewrite) -> PlannedRewrite:
    """The plan of a statement. Raises StalePlan if it was bound on another form of a relation."""
    catalog = session.database.reads.catalog
    optimized = optimize(bound.plan, session.check)
    by_key = None
    if _log_has_newest_rows(catalog, bound.relation):
        by_key = row_rewrite(optimized, bound.relation, has_new=bound.has_new)
    return PlannedRewrite(bound, session.planned(optimized, catalog), by_key)


def _log_has_newest_rows(catalog: Catalog, table: Table) -> bool:
    """Whether the log's last row of a key is the table's row, so that it can be changed without reading the table.

    It is not where rows come from elsewhere, or where a rule decides which row of a key stands.
    """
    comes_elsewhere = table.webhook or table.upstream or table.source or catalog.sinks_into(table.relation_id)
    has_rule = table.on_conflict is not ConflictBehavior.OVERWRITE or table.version_column is not None
    return has_row_keys(table) and not (comes_elsewhere or has_rule or table.watermark or table.append_only)
