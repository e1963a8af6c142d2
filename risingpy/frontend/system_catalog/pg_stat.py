"""pg_stat_activity, pg_locks and the table statistics that monitoring tools read."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from risingpy.frontend.system_catalog.oids import relation_oid
from risingpy.frontend.system_catalog.system_relation import HIDDEN, Row, SystemState, relation
from risingpy.plan.catalog import Table


def _activity(state: SystemState) -> Iterable[Row]:
    for session in state.sessions():
        user = state.catalog.role_named(session.user)
        user_id = None if user is None else user.role_id
        database = state.catalog.database_named(session.database)
        database_id = None if database is None else database.database_id
        head = database_id, session.database, session.process_id, None, user_id, session.user
        if not state.may_watch(session.user):
            yield *head, *(None,) * 13, HIDDEN, None
            continue
        host, _, port = session.client_address.rpartition(":")
        times = (session.backend_start, session.transaction_start, session.query_start, session.state_change)
        yield (
            *head,
            *(session.application_name, host or None, None, int(port) if port.isdigit() else None),
            *map(_at, times),
            *(session.wait.value if session.wait is not None else (None, None)),
            *(session.state.value, None, None, session.query, "client backend"),
        )


def _locks(state: SystemState) -> Iterable[Row]:
    """Locks of tables and rows are all that sessions wait for; each is of a transaction, which has no number."""
    for lock in state.locks():
        yield (
            *(
                "tuple" if lock.is_row else "relation",
                _database_of(state, lock.table_id),
                lock.table_id,
                None,
                None,
                None,
                None,
                None,
                None,
                None,
                None,
            ),
            *(lock.process_id, lock.mode.value, lock.waits_since is None, False, _at(lock.waits_since)),
        )


def _database_of(state: SystemState, table_id: int) -> int | None:
    found = state.catalog.relations.get(table_id)
    return None if found is None else found.database_id


def _at(seconds: float | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)


def _tables(state: SystemState) -> Iterable[Row]:
    statistics = state.statistics()
    for found in state.relations:
        if isinstance(found, Table):
            table = statistics.get(found.relation_id)
            rows = 0 if table is None else table.rows
            yield relation_oid(found), found.schema_name, found.name, None, None, rows


PG_STAT_ACTIVITY = relation(
    "pg_catalog",
    "pg_stat_activity",
    "datid oid, datname name, pid int4, leader_pid int4, usesysid oid, usename name, application_name text,"
    "client_addr text, client_hostname text, client_port int4, backend_start timestamptz, xact_start timestamptz,"
    "query_start timestamptz, state_change timestamptz, wait_event_type text, wait_event text, state text,"
    "backend_xid oid, backend_xmin oid, query text, backend_type text",
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
PG_STAT_USER_TABLES = relation(
    "pg_catalog",
    "pg_stat_user_tables",
    "relid oid, schemaname name, relname name, seq_scan int8, idx_scan int8, n_live_tup int8",
    _tables,
)
