"""A query that is planned once and run many times, until the catalog is another one."""

from __future__ import annotations

import pyarrow as pa

from risingpy.batch.constants import constant_table
from risingpy.batch.parameters import Parameters, with_parameters
from risingpy.batch.plan import BatchPlan, ConstantRows
from risingpy.batch.planner import plan_query, scans_of
from risingpy.batch.sql import to_duckdb_sql
from risingpy.plan.catalog import Catalog
from risingpy.plan.logical import LogicalPlan, Scan, Schema, SystemScan


class PreparedQuery:
    """A query with its plans: one for readers, and one per set of tables that a transaction has changed before it.

    Belongs to one session, whose thread alone calls it.
    """

    def __init__(self, query: LogicalPlan, catalog: Catalog) -> None:
        """Plans the query, which is optimized. Raises StalePlan if the catalog is not the one that it was bound on."""
        self._query = query
        self._reads = frozenset(scan.relation_id for scan in scans_of(query))
        self._catalog = catalog
        self._plans: dict[frozenset[int], BatchPlan] = {}
        self._texts: dict[frozenset[int], str] = {}
        self.plan = self.plan_for(catalog, frozenset(), ())
        """As it was planned first: what EXPLAIN shows."""

    @property
    def schema(self) -> Schema:
        """The columns of the answer."""
        return self._query.schema

    def constants(self, parameters: Parameters) -> pa.Table | None:
        """The answer, if it is constants (c0…), which need no state of the database; else None."""
        answer = self.plan.answer
        return constant_table(answer, self.schema, parameters) if isinstance(answer, ConstantRows) else None

    def plan_for(self, catalog: Catalog, changed: frozenset[int], parameters: Parameters) -> BatchPlan:
        """The plan for a state with this catalog, read by a transaction that has changed these tables.

        Raises StalePlan if a relation was altered since the query was bound, UndefinedTable if one was dropped.
        """
        if catalog is not self._catalog:  # an index that was dropped has no rows, and a new one may find them faster
            self._plans.clear()
            self._texts.clear()
            self._catalog = catalog
        overlaid = changed & self._reads
        plan = self._plans.get(overlaid)
        if plan is None:
            plan = self._plans[overlaid] = plan_query(self._query, catalog, overlaid)
        if plan.custom and parameters:
            return plan_query(with_parameters(self._query, parameters), catalog, overlaid)
        return plan

    def sql(self, plan: BatchPlan, changed: frozenset[int], parameters: Parameters) -> str:
        """What `plan_for` has given for these as DuckDB SQL over scan_0, scan_1, …: the plan's inputs."""
        if parameters:
            return _sql(with_parameters(plan.query, parameters))
        overlaid = changed & self._reads
        text = self._texts.get(overlaid)
        if text is None:
            text = self._texts[overlaid] = _sql(plan.query)
        return text


def _sql(query: LogicalPlan) -> str:
    count = 0

    def name(scan: Scan | SystemScan) -> str:
        nonlocal count
        count += 1
        return f"scan_{count - 1}"

    return to_duckdb_sql(query, name)
