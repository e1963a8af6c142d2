"""The plan of an UPDATE or DELETE, which is made again if the table is altered before the statement has its lock."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from risingpy.batch import PreparedQuery, RowRewrite, row_rewrite
from risingpy.errors import StalePlan
from risingpy.frontend.binder import BoundRewrite
from risingpy.frontend.returning import returning_fields
from risingpy.frontend.statement_context import StatementContext
from risingpy.meta.writing.row_keys import has_row_keys
from risingpy.optimizer.rules import optimize
from risingpy.plan.catalog import Catalog, Table
from risingpy.plan.operators import ConflictBehavior

Bind = Callable[[Catalog], BoundRewrite]


@dataclass(frozen=True, slots=True)
class PlannedRewrite:
    """`query` gives the rows of `bound.plan`. With `by_key`, the statement changes one row and may lock it alone."""

    bound: BoundRewrite
    query: PreparedQuery
    by_key: RowRewrite | None
    bind: Bind

    def newest(self, session: StatementContext) -> PlannedRewrite:
        """This plan; another one if the table was altered meanwhile. The caller has locked the table, or a row of it.

        Raises StalePlan if its result columns or parameter types are others now, or if the transaction has unwritten
        rows of the table's old form, which the commit would refuse.
        """
        relation = session.database.reads.catalog.relations.get(self.bound.relation.relation_id)
        if relation is not None and relation.version == self.bound.relation.version:
            return self
        other = planned_rewrite(session, self.bind)
        old, new = self.bound, other.bound
        is_same = new.relation.relation_id == old.relation.relation_id
        same_types = new.parameter_types == old.parameter_types
        same_rows = returning_fields(new.returning) == returning_fields(old.returning)
        has_written = old.relation.relation_id in session.transaction.changed_tables
        if has_written or not (is_same and same_types and same_rows):
            raise StalePlan(f'table "{old.relation.name}" was altered meanwhile', hint="Run the statement again.")
        return other


def planned_rewrite(session: StatementContext, bind: Bind) -> PlannedRewrite:
    """The statement that `bind` binds, planned on the current catalog."""
    catalog = session.database.reads.catalog
    bound = bind(catalog)
    optimized = optimize(bound.plan, session.check)
    by_key = None
    if _log_has_newest_rows(catalog, bound.relation):
        by_key = row_rewrite(optimized, bound.relation, has_new=bound.has_new)
    return PlannedRewrite(bound, session.planned(optimized, catalog), by_key, bind)


def _log_has_newest_rows(catalog: Catalog, table: Table) -> bool:
    """Whether the log's last row of a key is the table's row, so that it can be changed without reading the table.

    It is not where rows come from elsewhere, or where a rule decides which row of a key stands.
    """
    comes_elsewhere = table.webhook or table.upstream or table.source or catalog.sinks_into(table.relation_id)
    has_rule = table.on_conflict is not ConflictBehavior.OVERWRITE or table.version_column is not None
    return has_row_keys(table) and not (comes_elsewhere or has_rule or table.watermark or table.append_only)
