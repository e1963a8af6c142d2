"""A query that is planned once and run many times, until the catalog changes."""

from __future__ import annotations

import pyarrow as pa

from risingpy.batch.constants import constant_table
from risingpy.batch.moments import Clock, GivesNumbers
from risingpy.batch.parameters import Parameters, has_parameters, parameter_stored, with_parameters
from risingpy.batch.plan import BatchPlan, ComputedRows, ConstantRows, CopiedRows, Direct, NotedCount, PrefixScan
from risingpy.batch.planner import asks_for_objects, has_given_rows, has_system_scan, plan_query, scans_of
from risingpy.batch.sql import QuerySql, to_duckdb_sql
from risingpy.plan.catalog import Catalog
from risingpy.plan.logical import LogicalPlan, Scan, Schema, SystemScan


class PreparedQuery:
    """A query with its plans: one without own changes, and one per set of tables that a transaction has changed.

    It belongs to one session, and only that session's thread calls it.
    """

    def __init__(self, query: LogicalPlan, catalog: Catalog) -> None:
        """Plans the optimized query. Raises StalePlan if it was bound on another form of a relation."""
        self._query = query
        self._reads = frozenset(scan.relation_id for scan in scans_of(query))
        reads_any = has_system_scan(query) or (not has_given_rows(query) and asks_for_objects(query))
        self._relations = None if reads_any else self._reads
        self._catalog = catalog
        self._plans: dict[frozenset[int], BatchPlan] = {}
        self._texts: dict[frozenset[int], QuerySql] = {}
        self.plan = self.plan_for(catalog, frozenset(), ())
        """As it was planned first: what EXPLAIN shows."""

    @property
    def relations(self) -> frozenset[int] | None:
        """The ids of the relations that it reads; None if it may look at any.

        System relations tell of all others, and so do functions that ask for objects: `rw_digest('t')`.
        """
        return self._relations

    @property
    def schema(self) -> Schema:
        """The columns of the answer."""
        return self._query.schema

    def takes_constants(self, parameters: int) -> bool:
        """Whether each of so many parameters is the whole value of a key, or a value among constant rows, and no more.

        Then constants in their places would give the same rows, and no error that the parameters do not give.
        """
        match self.plan.answer:
            case Direct(get, outputs):
                values, others = list(get.key), list(outputs)
            case ConstantRows(columns):
                values, others = [expr for column in columns for expr in column], []
            case CopiedRows(limit=None, offset=None) if isinstance(self.plan.inputs[0], PrefixScan):
                values, others = list(self.plan.inputs[0].key), []
            case CopiedRows() | NotedCount() | ComputedRows():
                return False
        places = sorted(place for place in map(parameter_stored, values) if place is not None)
        elsewhere = [expr for expr in values if parameter_stored(expr) is None] + others
        return places == [*range(1, parameters + 1)] and not any(map(has_parameters, elsewhere))

    def constants(self, parameters: Parameters, numbers: GivesNumbers, now: Clock) -> pa.Table | None:
        """The answer (c0…) if it consists of constants, which need no snapshot; else None."""
        answer = self.plan.answer
        if not isinstance(answer, ConstantRows):
            return None
        return constant_table(answer, self.schema, parameters, numbers, now)

    def plan_for(self, catalog: Catalog, changed: frozenset[int], parameters: Parameters) -> BatchPlan:
        """The plan for a snapshot with this catalog, and a transaction that has changed these tables.

        Raises StalePlan if a relation was altered or dropped since the query was bound.
        """
        if catalog is not self._catalog:  # indexes may have been dropped, and new ones may be better
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

    def sql(self, plan: BatchPlan, changed: frozenset[int], parameters: Parameters) -> QuerySql:
        """The DuckDB SQL of a plan of `plan_for`, with the same arguments; its inputs are called scan_0, scan_1, …"""
        if parameters:
            return _sql(with_parameters(plan.query, parameters))
        overlaid = changed & self._reads
        text = self._texts.get(overlaid)
        if text is None:
            text = self._texts[overlaid] = _sql(plan.query)
        return text


def _sql(query: LogicalPlan) -> QuerySql:
    count = 0

    def name(scan: Scan | SystemScan) -> str:
        nonlocal count
        count += 1
        return f"scan_{count - 1}"

    return to_duckdb_sql(query, name)
