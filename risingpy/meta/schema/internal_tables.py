"""The tables that jobs keep their state in, as relations that a query may read: `SELECT * FROM __internal_…`."""

from __future__ import annotations

from collections.abc import Mapping

from risingpy.meta.state import MetaState
from risingpy.plan.catalog import ColumnDesc, Relation, RelationKind
from risingpy.storage.codec.table_schema import TableSchema


def internal_tables(state: MetaState) -> Mapping[int, Relation]:
    """By table id: the state tables of all running jobs, in their jobs' schemas."""
    found: dict[int, Relation] = {}
    for job in state.jobs.values():
        owner = state.catalog.relations.get(job.job_id)
        if owner is not None:
            found.update((table.table_id, _relation(table, owner)) for table in job.state_tables)
    return found


def _relation(table: TableSchema, owner: Relation) -> Relation:
    key = tuple(column.index for column in table.key)
    return Relation(
        relation_id=table.table_id,
        schema_name=owner.schema_name,
        name=table.name,
        kind=RelationKind.INTERNAL_TABLE,
        columns=tuple(ColumnDesc(column.column_id, column.name, column.type) for column in table.columns),
        definition="",
        primary_key=key,
        stream_key=key,
        table=table,
        depends_on=(owner.relation_id,),
    )
