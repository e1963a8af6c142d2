"""pg_stat_activity, pg_locks and the table statistics that monitoring tools read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime

from risingpy.frontend.system_catalog.oids import index_oid, relation_oid
from risingpy.frontend.system_catalog.pg_class import index_name
from risingpy.frontend.system_catalog.pg_index import keyed_tables
from risingpy.frontend.system_catalog.system_relation import HIDDEN, Row, SystemState, relation
from risingpy.meta.writing.advisory_locks import AdvisoryKey
from risingpy.plan.catalog import Table


def _activity(state: SystemState) -> Iterable[Row]:
    for session in state.sessions():
        user = state.catalog.role_named(session.user)
        user_id = None if user is None else user.role_id
        database = state.catalog.database_named(session.database)
        database_id = None if database is None else database.database_id
        head = database_id, session.database, session.process_id, None, user_id, session.user
        if not state.may_watch(session.user):
            yield *head, *(None,) * 14, HIDDEN, None
            continue
        host, _, port = session.client_address.rpartition(":")
        times = (session.backend_start, session.transaction_start, session.query_start, session.state_change)
        yield (
            *head,
            *(session.application_name, host or None, None, int(port) if port.isdigit() else None),
            *map(_at, times),
            *(session.wait.value if session.wait is not None else (None, None)),
            *(session.state.value, None, None, None, session.query, "client backend"),
        )


def _locks(state: SystemState) -> Iterable[Row]:
    """Locks of tables and rows are all that sessions wait for; each is of a transaction, which has no number.

    A row's lock is seen, as in PostgreSQL, only while somebody waits for it; rw_locks has all. An advisory lock is a
    session's, or its transaction's.
    """
    for lock in state.locks():
        held = None, lock.process_id, lock.mode, lock.is_granted, False, _at(lock.waits_since)
        if isinstance(lock.key, AdvisoryKey):
            database_id, *numbers = lock.key.fields
            yield "advisory", database_id, *(None,) * 5, *numbers, *held
        elif lock.is_awaited or not lock.is_row:
            kind = "tuple" if lock.is_row else "relation"
            yield kind, _database_of(state, lock.table_id), lock.table_id, *(None,) * 7, *held


def _database_of(state: SystemState, table_id: int) -> int | None:
    found = state.catalog.relations.get(table_id)
    return None if found is None else found.database_id


def _at(seconds: float | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)


def _tables(state: SystemState) -> Iterable[Row]:
    """The number of rows is the newest epoch's; nothing else is counted."""
    statistics = state.statistics()
    for found in state.relations:
        if isinstance(found, Table):
            table = statistics.get(found.relation_id)
            rows = 0 if table is None else table.rows
            head = relation_oid(found), found.schema_name, found.name
            yield *head, *(None,) * 8, rows, *(None,) * 11


def _indexes(state: SystemState) -> Iterable[Row]:
    """Those of primary keys, too, which tools tell by them from other indexes."""
    for found in keyed_tables(state):
        yield relation_oid(found), index_oid(found), found.schema_name, found.name, index_name(found), None, None, None
    for index, indexed in state.indexes:
        if isinstance(indexed, Table):
            oids = relation_oid(indexed), relation_oid(index)
            yield *oids, index.schema_name, indexed.name, index.name, None, None, None


def _databases(state: SystemState) -> Iterable[Row]:
    """How many sessions each has; nothing else is counted."""
    numbers = Counter(session.database for session in state.sessions())
    for database in state.catalog.databases.values():
        yield database.database_id, database.name, numbers[database.name], *(None,) * 25


PG_STAT_ACTIVITY = relation(
    "pg_catalog",
    "pg_stat_activity",
    "datid oid, datname name, pid int4, leader_pid int4, usesysid oid, usename name, application_name text,"
    "client_addr text, client_hostname text, client_port int4, backend_start timestamptz, xact_start timestamptz,"
    "query_start timestamptz, state_change timestamptz, wait_event_type text, wait_event text, state text,"
    "backend_xid xid, backend_xmin xid, query_id int8, query text, backend_type text",
    _activity,
)
PG_LOCKS = relation(
    "pg_catalog",
    "pg_locks",
    "locktype text, database oid, relation oid, page int4, tuple int2, virtualxid text, transactionid oid,"
    "classid oid, objid oid, objsubid int2, virtualtransaction text, pid int4, mode text, granted bool, fastpath bool,"
    "waitstart timestamptz",
    _locks,
)
_OF_TABLES = (
    "relid oid, schemaname name, relname name, seq_scan int8, seq_tup_read int8, idx_scan int8, idx_tup_fetch int8,"
    "n_tup_ins int8, n_tup_upd int8, n_tup_del int8, n_tup_hot_upd int8, n_live_tup int8, n_dead_tup int8,"
    "n_mod_since_analyze int8, n_ins_since_vacuum int8, last_vacuum timestamptz, last_autovacuum timestamptz,"
    "last_analyze timestamptz, last_autoanalyze timestamptz, vacuum_count int8, autovacuum_count int8,"
    "analyze_count int8, autoanalyze_count int8"
)
_OF_INDEXES = (
    "relid oid, indexrelid oid, schemaname name, relname name, indexrelname name, idx_scan int8, idx_tup_read int8,"
    "idx_tup_fetch int8"
)
PG_STAT_USER_TABLES = relation("pg_catalog", "pg_stat_user_tables", _OF_TABLES, _tables)
PG_STAT_ALL_TABLES = relation("pg_catalog", "pg_stat_all_tables", _OF_TABLES, _tables)
PG_STAT_USER_INDEXES = relation("pg_catalog", "pg_stat_user_indexes", _OF_INDEXES, _indexes)
PG_STAT_ALL_INDEXES = relation("pg_catalog", "pg_stat_all_indexes", _OF_INDEXES, _indexes)
PG_STAT_DATABASE = relation(
    "pg_catalog",
    "pg_stat_database",
    "datid oid, datname name, numbackends int4, xact_commit int8, xact_rollback int8, blks_read int8, blks_hit int8,"
    "tup_returned int8, tup_fetched int8, tup_inserted int8, tup_updated int8, tup_deleted int8, conflicts int8,"
    "temp_files int8, temp_bytes int8, deadlocks int8, checksum_failures int8, checksum_last_failure timestamptz,"
    "blk_read_time float8, blk_write_time float8, session_time float8, active_time float8,"
    "idle_in_transaction_time float8, sessions int8, sessions_abandoned int8, sessions_fatal int8,"
    "sessions_killed int8, stats_reset timestamptz",
    _databases,
)
