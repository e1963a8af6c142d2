"""The state tables of jobs, as relations that a query may read: `SELECT * FROM __internal_…`."""

from __future__ import annotations

from collections.abc import Mapping

from risingpy.meta.state import MetaState
from risingpy.plan.catalog import ColumnDesc, CreatedRelation, InternalTable
from risingpy.storage.codec.table_schema import TableSchema


def internal_tables(state: MetaState, before: Mapping[int, InternalTable]) -> Mapping[int, InternalTable]:
    """By table id: the state tables of all running jobs, in their jobs' schemas.

    Those that are the same in `before`, the tables of another state, are the same objects: a change of the catalog
    makes those of one job, beside any number of others.
    """
    found: dict[int, InternalTable] = {}
    for job in state.jobs.values():
        owner = state.catalog.relations.get(job.job_id)
        if owner is not None:
            for table in job.state_tables:
                known = before.get(table.table_id)
                if known is None or not _is_of(known, table, owner):
                    known = _relation(table, owner)
                found[table.table_id] = known
    return found


def _is_of(known: InternalTable, table: TableSchema, owner: CreatedRelation) -> bool:
    same_owner = (known.job_id, known.schema_name) == (owner.relation_id, owner.schema_name)
    return known.table is table and same_owner and known.database_id == owner.database_id


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
