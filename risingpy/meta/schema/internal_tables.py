"""The state tables of jobs, as relations that a query may read: `SELECT * FROM __internal_…`."""

from __future__ import annotations

from collections.abc import Mapping

from risingpy.meta.state import MetaState
from risingpy.plan.catalog import ColumnDesc, CreatedRelation, InternalTable
from risingpy.storage.codec.table_schema import TableSchema


def internal_tables(state: MetaState) -> Mapping[int, InternalTable]:
    """By table id: the state tables of all running jobs, in their jobs' schemas."""
    found: dict[int, InternalTable] = {}
    for job in state.jobs.values():
        owner = state.catalog.relations.get(job.job_id)
        if owner is not None:
            found.update((table.table_id, _relation(table, owner)) for table in job.state_tables)
    return found


def _relation(table: TableSchema, owner: CreatedRelation) -> InternalTable:
    return InternalTable(
        relation_id=table.table_id,
        schema_name=owner.schema_name,
        name=table.name,
        columns=tuple(ColumnDesc(column.column_id, column.name, column.type) for column in table.columns),
        table=table,
        job_id=owner.relation_id,
        database_id=owner.database_id,
    )
