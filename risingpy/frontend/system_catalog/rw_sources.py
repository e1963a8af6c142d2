"""Sources: in rw_catalog how far views have read them and which messages did not decode, in pg_catalog foreign tables.

Secrets and connections have their names in rw_catalog, and no value that is secret.

For PostgreSQL's clients, such as psql's `\\d`, the connector is the server that has the table. Its options are not
shown there, since they may be credentials, which SHOW CREATE SOURCE masks.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from risingpy.connectors.secret_options import MASK
from risingpy.frontend.system_catalog.oids import ROOT_USER_OID, connector_oid, relation_oid, schema_oid
from risingpy.frontend.system_catalog.rights.acls import acl_texts
from risingpy.frontend.system_catalog.system_relation import HIDDEN, Row, SystemState, relation
from risingpy.plan.catalog import ConnectionDesc, CreatedRelation, ExternalSource, SecretDesc


def _lags(state: SystemState) -> Iterable[Row]:
    for lag in state.source_lags():
        job = None if lag.job_id is None else state.catalog.relations.get(lag.job_id)
        if job is not None or lag.job_id is None:
            behind = None if lag.end is None else max(lag.end - (lag.position or 0), 0)
            yield (
                *(relation_oid(lag.source), lag.source.name, *_named(job), lag.split),
                *(lag.position, lag.end, behind, lag.rejected, state.told(lag.source, lag.failure)),
            )


def _named(job: CreatedRelation | None) -> tuple[int | None, str | None]:
    return (None, None) if job is None else (relation_oid(job), job.name)


def _errors(state: SystemState) -> Iterable[Row]:
    for kept in state.rejected():
        source = state.catalog.sources.get(kept.source_id)
        if source is not None:
            found = kept.message
            shown = (found.reason, found.text) if state.may_read(source) else (HIDDEN, None)
            yield relation_oid(source), source.name, found.split, found.position, kept.time, *shown


def _sources(state: SystemState) -> list[ExternalSource]:
    return [found for found in state.relations if isinstance(found, ExternalSource)]


def _connector(source: ExternalSource) -> str:
    return dict(source.options).get("connector", "").lower()


def _wrappers(state: SystemState) -> Iterable[Row]:
    for name in sorted({_connector(source) for source in _sources(state)}):
        yield connector_oid(name), name, ROOT_USER_OID, 0, 0, None, None


def _servers(state: SystemState) -> Iterable[Row]:
    for name in sorted({_connector(source) for source in _sources(state)}):
        yield connector_oid(name), name, ROOT_USER_OID, connector_oid(name), None, None, None, None


def _tables(state: SystemState) -> Iterable[Row]:
    for source in _sources(state):
        yield relation_oid(source), connector_oid(_connector(source)), None


def shown_options(connection: ConnectionDesc, secrets: Mapping[int, SecretDesc]) -> dict[str, str]:
    """A connection's options by name: `***` for a password, `SECRET name` for one that names a secret."""
    hidden = {each.name: MASK for each in connection.hidden.sealed}
    hidden |= {each.name: f"SECRET {secrets[each.secret_id].name}" for each in connection.hidden.secrets}
    return {**dict(connection.options), **hidden}


def _secrets(state: SystemState) -> Iterable[Row]:
    for each in state.catalog.own_secrets:
        yield each.secret_id, schema_oid(each.schema_name), each.name, each.owner, acl_texts(state, each.acl)


def _connections(state: SystemState) -> Iterable[Row]:
    for each in state.catalog.own_connections:
        shown = json.dumps(shown_options(each, state.catalog.secrets), ensure_ascii=False)
        schema = schema_oid(each.schema_name)
        acl = acl_texts(state, each.acl)
        yield each.connection_id, each.name, schema, each.owner, each.type.upper(), "", acl, shown


RW_SOURCE_LAG = relation(
    "rw_catalog",
    "rw_source_lag",
    "source_id int4, source_name text, job_id int4, job_name text, split text, position int8, end_position int8,"
    "lag int8, bad_messages int8, failure text",
    _lags,
)
RW_SOURCE_ERRORS = relation(
    "rw_catalog",
    "rw_source_errors",
    "source_id int4, source_name text, partition text, offset int8, time timestamptz, reason text, message text",
    _errors,
)
PG_FOREIGN_DATA_WRAPPER = relation(
    "pg_catalog",
    "pg_foreign_data_wrapper",
    "oid oid, fdwname name, fdwowner oid, fdwhandler oid, fdwvalidator oid, fdwacl _text, fdwoptions _text",
    _wrappers,
)
PG_FOREIGN_SERVER = relation(
    "pg_catalog",
    "pg_foreign_server",
    "oid oid, srvname name, srvowner oid, srvfdw oid, srvtype text, srvversion text, srvacl _text, srvoptions _text",
    _servers,
)
PG_FOREIGN_TABLE = relation("pg_catalog", "pg_foreign_table", "ftrelid oid, ftserver oid, ftoptions _text", _tables)
RW_SECRETS = relation("rw_catalog", "rw_secrets", "id int4, schema_id int4, name text, owner int4, acl _text", _secrets)
RW_CONNECTIONS = relation(
    "rw_catalog",
    "rw_connections",
    "id int4, name text, schema_id int4, owner int4, type_ text, provider text, acl _text, connection_params text",
    _connections,
)
