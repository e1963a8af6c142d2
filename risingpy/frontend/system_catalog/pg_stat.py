"""pg_stat_activity and the table statistics that monitoring tools read."""

from __future__ import annotations

from collections.abc import Iterable

from risingpy.frontend.system_catalog.oids import DATABASE_OID, ROOT_USER_OID, relation_oid
from risingpy.frontend.system_catalog.system_relation import Row, SystemState, relation
from risingpy.plan.catalog import Table


def _activity(state: SystemState) -> Iterable[Row]:
    for session in state.sessions:
        host, _, port = session.client_address.rpartition(":")
        yield (
            *(DATABASE_OID, state.catalog.database, session.process_id, None, ROOT_USER_OID, session.user),
            *(session.application_name, host or None, None, int(port) if port.isdigit() else None, None, None, None),
            *(None, None, None, "active" if session.running else "idle", None, None, session.query, "client backend"),
        )


def _tables(state: SystemState) -> Iterable[Row]:
    for found in state.relations:
        if isinstance(found, Table):
            yield relation_oid(found), found.schema_name, found.name, None, None, None


PG_STAT_ACTIVITY = relation(
    "pg_catalog",
    "pg_stat_activity",
    "datid oid, datname name, pid int4, leader_pid int4, usesysid oid, usename name, application_name text,"
    "client_addr text, client_hostname text, client_port int4, backend_start timestamptz, xact_start timestamptz,"
    "query_start timestamptz, state_change timestamptz, wait_event_type text, wait_event text, state text,"
    "backend_xid oid, backend_xmin oid, query text, backend_type text",
    _activity,
)
PG_STAT_USER_TABLES = relation(
    "pg_catalog",
    "pg_stat_user_tables",
    "relid oid, schemaname name, relname name, seq_scan int8, idx_scan int8, n_live_tup int8",
    _tables,
)
