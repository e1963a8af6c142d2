"""A planner's bench: a catalog and a stream graph in memory, filled with hand-made relations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count

import pytest

from risingpy.optimizer.estimated_rows import TableRows, no_table_rows
from risingpy.optimizer.stream.fragments import cut
from risingpy.optimizer.stream.jobs import StreamJobPlan, plan_materialized_view, plan_table
from risingpy.plan import logical
from risingpy.plan.catalog import (
    Catalog,
    ColumnDesc,
    CreatedRelation,
    ExternalSource,
    Index,
    IndexDefinition,
    MaterializedView,
    Relation,
    Table,
    View,
    Watermark,
)
from risingpy.plan.graph import Job, StreamGraph
from risingpy.types import BIGINT, SqlType


@dataclass
class PlannerBench:
    """Creates relations as the meta service does. Ids count from 1."""

    relations: dict[int, CreatedRelation] = field(default_factory=dict)
    jobs: list[Job] = field(default_factory=list)
    ids: count[int] = field(default_factory=lambda: count(1))

    @property
    def catalog(self) -> Catalog:
        return Catalog(relations=self.relations)

    @property
    def graph(self) -> StreamGraph:
        return StreamGraph(1, 2, tuple(self.jobs))

    def allocate(self) -> int:
        return next(self.ids)

    def table(
        self,
        name: str,
        columns: dict[str, SqlType],
        key: Sequence[str] = (),
        *,
        append_only: bool = False,
        watermark: Watermark | None = None,
    ) -> Table:
        """CREATE TABLE; with a generated row id if there is no key."""
        descs = [ColumnDesc(i, column, type_) for i, (column, type_) in enumerate(columns.items(), 1)]
        if not key:
            descs.append(ColumnDesc(len(descs) + 1, "_row_id", BIGINT, hidden=True))
        primary_key = tuple(list(columns).index(column) for column in key)
        planned = plan_table(
            table_id=self.allocate(),
            name=name,
            columns=descs,
            primary_key=primary_key,
            append_only=append_only,
            watermark=watermark,
        )
        table = Table(
            planned.table.table_id,
            "public",
            name,
            planned.columns,
            "",
            primary_key=primary_key,
            stream_key=planned.stream_key,
            append_only=planned.append_only,
            table=planned.table,
            watermarks=planned.watermarks,
        )
        self._add(table, planned)
        return table

    def view(self, name: str, query: logical.LogicalPlan) -> MaterializedView:
        """CREATE MATERIALIZED VIEW, with the query's own column names."""
        return self.planned_view(name, self.plan(query, name=name))

    def planned_view(self, name: str, planned: StreamJobPlan) -> MaterializedView:
        """CREATE MATERIALIZED VIEW of a query that is planned already."""
        view = MaterializedView(
            planned.table.table_id,
            "public",
            name,
            planned.columns,
            "",
            query="",
            stream_key=planned.stream_key,
            append_only=planned.append_only,
            table=planned.table,
            watermarks=planned.watermarks,
        )
        self._add(view, planned)
        return view

    def planned_index(self, name: str, definition: IndexDefinition, planned: StreamJobPlan) -> None:
        """CREATE INDEX."""
        index = Index(
            planned.table.table_id,
            "public",
            name,
            planned.columns,
            "",
            index=definition,
            stream_key=planned.stream_key,
            append_only=planned.append_only,
            table=planned.table,
        )
        self._add(index, planned)

    def plan(
        self, query: logical.LogicalPlan, *, name: str = "mv", table_rows: TableRows = no_table_rows
    ) -> StreamJobPlan:
        names = [column.name for column in query.schema if not column.hidden]
        return plan_materialized_view(
            query, self.catalog, allocate=self.allocate, name=name, output_names=names, table_rows=table_rows
        )

    def cut(self, planned: StreamJobPlan) -> Job:
        return cut(planned.table.table_id, planned, self.graph, self.allocate)

    def _add(self, relation: Table | MaterializedView | Index, planned: StreamJobPlan) -> None:
        """Takes a planned relation into the catalog and its job into the graph."""
        self.jobs.append(self.cut(planned))
        self.relations[relation.relation_id] = relation

    def source(self, name: str, columns: dict[str, SqlType]) -> ExternalSource:
        """CREATE SOURCE: its row ids are generated."""
        descs = [ColumnDesc(i, column, type_) for i, (column, type_) in enumerate(columns.items(), 1)]
        descs.append(ColumnDesc(len(descs) + 1, "_row_id", BIGINT, hidden=True))
        relation = ExternalSource(self.allocate(), "public", name, tuple(descs), "")
        self.relations[relation.relation_id] = relation
        return relation

    def plain_view(self, name: str, columns: tuple[ColumnDesc, ...], query: str) -> None:
        """CREATE VIEW."""
        relation_id = self.allocate()
        relation = View(relation_id, "public", name, columns, "", query=query)
        self.relations[relation_id] = relation

    @staticmethod
    def scan(relation: Relation, *names: str) -> logical.Scan:
        """Reads the columns called `names`, all that are not hidden if none are given."""
        visible = names or [column.name for column in relation.columns if not column.hidden]
        positions = [i for name in visible for i, column in enumerate(relation.columns) if column.name == name]
        fields = tuple(logical.Field(relation.columns[i].name, relation.columns[i].type) for i in positions)
        return logical.Scan(relation.relation_id, relation.qualified_name, tuple(positions), fields)


@pytest.fixture
def bench() -> PlannerBench:
    return PlannerBench()


@pytest.fixture(scope="session")
def make_bench() -> type[PlannerBench]:
    """For tests that need a new bench for every example."""
    return PlannerBench
