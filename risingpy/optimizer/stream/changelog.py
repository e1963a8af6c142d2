"""Plans the job of a changelog: what a stream, or a stored relation, has changed in each epoch.

a followed relation   =>  Changelog(TableScan(t: all columns))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from risingpy.optimizer.stream.jobs import StreamJobPlan
from risingpy.optimizer.stream.properties import derived, underived
from risingpy.optimizer.stream.scan import plan_scan
from risingpy.plan.catalog import ColumnDesc, MaterializedView, Table
from risingpy.plan.logical import Field, Scan
from risingpy.plan.operators import Changelog, StreamPlan
from risingpy.plan.state_tables import changelog_table


def plan_changelog(input: StreamPlan, columns: Sequence[ColumnDesc], *, table_id: int, name: str) -> StreamJobPlan:
    """The job that keeps the changes of `input`; `columns` describe its schema."""
    table = changelog_table(table_id, name)
    root = derived(Changelog(input, table, underived(input.properties.schema)))
    return StreamJobPlan(root, table, tuple(columns), root.properties.stream_key, root.properties.append_only)


def plan_followed(
    relation: Table | MaterializedView, *, table_id: int, name: str, allocate: Callable[[], int]
) -> StreamJobPlan:
    """The job that keeps the changes of all columns of a relation, hidden ones too, in their order."""
    fields = tuple(Field(column.name, column.type, column.hidden) for column in relation.columns)
    columns = tuple(range(len(fields)))
    scan = Scan(relation.relation_id, relation.qualified_name, columns, fields, relation.version)
    return plan_changelog(plan_scan(scan, relation, name, allocate), relation.columns, table_id=table_id, name=name)
