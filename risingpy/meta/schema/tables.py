"""CREATE TABLE, as functions from state to state."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import count

from risingpy.connectors.included_columns import IncludedColumn
from risingpy.connectors.registry import is_pushed
from risingpy.connectors.secrets.hidden_options import HiddenOptions, SecretOption, StoredOptions
from risingpy.errors import SerializationFailure, UndefinedTable
from risingpy.meta.durable_state import with_status
from risingpy.meta.schema.altered_table import with_new_rules
from risingpy.meta.schema.constraints import NewUnique, referred_tables, with_constraint_ids, with_uniques
from risingpy.meta.schema.objects.sequences import with_sequences_of
from risingpy.meta.schema.relations import check_new_name, with_job
from risingpy.meta.schema.secrets import check_hidden
from risingpy.meta.state import IdAllocator, MetaState
from risingpy.optimizer.stream.jobs import StreamJobPlan, plan_table
from risingpy.plan.catalog import (
    ColumnDesc,
    ExternalSource,
    ForeignKey,
    JobStatus,
    RowRetention,
    Table,
    TableConstraint,
    UpstreamTable,
    Watermark,
    Webhook,
)
from risingpy.plan.catalog.columns import ROW_ID
from risingpy.plan.operators import ConflictBehavior
from risingpy.types import BIGINT


@dataclass(frozen=True, slots=True)
class FedBy:
    """What feeds a table: WITH (options) FORMAT … ENCODE … and INCLUDE of CREATE TABLE."""

    stored: StoredOptions
    included: tuple[IncludedColumn, ...]


@dataclass(frozen=True, slots=True)
class EndOfRows:
    """Rows end so many `seconds` after they were written. Readers are told of it, or not."""

    seconds: int
    is_told: bool


@dataclass(frozen=True, slots=True)
class NewTable:
    """CREATE TABLE: `columns` end with the hidden `_row_id` if there is no primary key.

    `filled`: the table is in creation until the statement has written its rows. So it is until it has its `uniques`.
    `has_times`: WITH (row_timestamp = true).
    """

    schema_name: str
    name: str
    columns: tuple[ColumnDesc, ...]
    primary_key: tuple[int, ...]
    append_only: bool
    definition: str
    on_conflict: ConflictBehavior = ConflictBehavior.OVERWRITE
    version_columns: tuple[int, ...] = ()
    watermark: Watermark | None = None
    webhook: Webhook | None = None
    upstream: UpstreamTable | None = None
    source: FedBy | None = None
    filled: bool = False
    constraints: tuple[TableConstraint, ...] = ()
    uniques: tuple[NewUnique, ...] = ()
    key_name: str | None = None
    ends: EndOfRows | None = None
    has_times: bool = False


def add_table(state: MetaState, table: NewTable) -> tuple[MetaState, int]:
    """(`state` with the table and its job, the table's id).

    A table that copies another, or is `filled`, is in creation until it has its rows.
    """
    _check(state, table)
    allocate = IdAllocator(state.next_id)
    relation_id = allocate()
    if table.watermark is not None and table.watermark.ttl:
        table = replace(table, watermark=replace(table.watermark, expiry_table=allocate()))
    ends = table.ends
    retention = None
    if ends is not None:
        retention = RowRetention(ends.seconds, allocate(), allocate() if ends.is_told else None)
    times = allocate() if table.has_times else None
    source = None if table.source is None else _table_source(state, table, table.source, allocate)
    planned = _planned(table, relation_id, source, retention, times)
    relation = Table(
        relation_id=relation_id,
        schema_name=table.schema_name,
        name=table.name,
        columns=planned.columns,
        definition=table.definition,
        primary_key=table.primary_key,
        stream_key=planned.stream_key,
        append_only=table.append_only,
        on_conflict=table.on_conflict,
        version_column=next(iter(table.version_columns), None),
        later_version_columns=table.version_columns[1:],
        watermark=table.watermark,
        webhook=table.webhook,
        upstream=table.upstream,
        source=source,
        status=JobStatus.CREATING if _waits_for_rows(table) else JobStatus.CREATED,
        constraints=table.constraints,
        key_name=table.key_name or _free_key_name(state, table),
        retention=retention,
        times_of_rows=times,
        watermarks=planned.watermarks,
        table=planned.table,
        version=state.catalog.version + 1,
    )
    state = with_uniques(with_job(state, relation, planned, allocate), relation_id, table.uniques)
    if table.constraints:
        _check_referred(state, table.constraints)
        state = with_constraint_ids(state, relation_id)
        state = with_new_rules(state, referred_tables((), table.constraints))
    return with_sequences_of(state, relation_id), relation_id


def _free_key_name(state: MetaState, table: NewTable) -> str | None:
    """None, for `table_pkey`, unless another table's primary key has that name since before it was renamed."""
    taken = {
        each.key_name
        for each in state.catalog.relations.values()
        if isinstance(each, Table) and each.key_name is not None and each.schema_name == table.schema_name
    }
    usual = f"{table.name}_pkey"
    if not table.primary_key or usual not in taken:
        return None
    return next(name for number in count(1) if (name := f"{usual}{number}") not in taken)


def _planned(
    table: NewTable,
    relation_id: int,
    source: ExternalSource | None,
    retention: RowRetention | None,
    times_of_rows: int | None,
) -> StreamJobPlan:
    return plan_table(
        table_id=relation_id,
        name=table.name,
        columns=table.columns,
        primary_key=table.primary_key,
        append_only=table.append_only,
        on_conflict=table.on_conflict,
        version_columns=table.version_columns,
        watermark=table.watermark,
        source=source,
        retention=retention,
        times_of_rows=times_of_rows,
    )


def _check(state: MetaState, table: NewTable) -> None:
    """Raises an error if something that the table needs has gone, or its name is taken."""
    check_new_name(state, table.schema_name, table.name)
    if table.upstream is not None and table.upstream.source_id not in state.catalog.relations:
        raise SerializationFailure("the source was dropped meanwhile", hint="Run the statement again.")
    if table.source is not None:
        check_hidden(state, table.source.stored.hidden)
    if table.webhook is not None and table.webhook.secret_id is not None:
        check_hidden(state, HiddenOptions(secrets=(SecretOption("", table.webhook.secret_id),)))


def _check_referred(state: MetaState, constraints: Iterable[TableConstraint]) -> None:
    """Raises SerializationFailure if a table to which a foreign key refers has gone, or its key has."""
    for each in constraints:
        needed = (each.table_id, each.index_id) if isinstance(each, ForeignKey) else ()
        if any(needed_id and needed_id not in state.catalog.relations for needed_id in needed):
            message = "a table to which a foreign key refers was altered or dropped meanwhile"
            raise SerializationFailure(message, hint="Run the statement again.")


def _waits_for_rows(table: NewTable) -> bool:
    is_pushed_to = table.source is not None and is_pushed(dict(table.source.stored.options))
    return table.filled or table.upstream is not None or bool(table.uniques) or is_pushed_to


def pushing_source(state: MetaState, table_id: int) -> int | None:
    """The source whose thread logs the rows of a table that is there; None if there is none."""
    table = state.catalog.relations[table_id]
    assert isinstance(table, Table)
    feeds_itself = table.source is not None and not is_pushed(dict(table.source.options))
    return None if feeds_itself else table.pushed_by


def _table_source(state: MetaState, table: NewTable, fed: FedBy, allocate: IdAllocator) -> ExternalSource:
    source = ExternalSource(
        relation_id=allocate(),
        schema_name=table.schema_name,
        name=table.name,
        columns=table.columns,
        definition=table.definition,
        options=fed.stored.options,
        hidden=fed.stored.hidden,
        message_format=fed.stored.message_format,
        included=fed.included,
        version=state.catalog.version + 1,
    )
    return source_of_table(source, table.columns, table.primary_key)


def source_of_table(
    source: ExternalSource, columns: tuple[ColumnDesc, ...], primary_key: tuple[int, ...]
) -> ExternalSource:
    """The source that feeds a table: it has the table's columns, and a row id as the last one."""
    if primary_key:
        fresh = 1 + max(column.column_id for column in columns)
        columns = (*columns, ColumnDesc(fresh, ROW_ID, BIGINT, True, hidden=True))
    return replace(source, columns=columns, table_key=primary_key)


def with_created(state: MetaState, table_id: int) -> MetaState:
    """`state` with a table that has its first rows: from now on it can be read."""
    if table_id not in state.catalog.relations:
        raise UndefinedTable("the table was dropped meanwhile")
    return with_status(state, table_id, JobStatus.CREATED)
