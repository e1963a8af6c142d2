"""What the other database says of itself: whether it can be followed, and what its tables are.

All functions raise SourceUnavailable if it does not answer, InvalidParameterValue if it cannot do what is asked.
"""

from __future__ import annotations

from typing import Any

from psycopg import sql

from risingpy.connectors.postgres_cdc.options import PostgresCdcOptions
from risingpy.connectors.postgres_cdc.table_names import parts_of, whole_name
from risingpy.connectors.postgres_cdc.table_shapes import current_tables, shape_text
from risingpy.connectors.postgres_cdc.upstream_connection import Connection
from risingpy.connectors.pushed import UpstreamColumn, UpstreamDescription
from risingpy.errors import InvalidParameterValue
from risingpy.sql_quoting import double_quoted
from risingpy.types import (
    BIGINT,
    BOOLEAN,
    BYTEA,
    DATE,
    DOUBLE,
    INTEGER,
    INTERVAL,
    JSONB,
    NUMERIC,
    REAL,
    SMALLINT,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    VARCHAR,
    SqlType,
    array_of,
)

LOCK_SECONDS = 4  # for which a table's writers may hold up its way into the publication
_TYPES = {
    "bool": BOOLEAN, "int2": SMALLINT, "int4": INTEGER, "int8": BIGINT, "float4": REAL, "float8": DOUBLE,
    "numeric": NUMERIC, "date": DATE, "time": TIME, "timestamp": TIMESTAMP, "timestamptz": TIMESTAMPTZ,
    "interval": INTERVAL, "bytea": BYTEA, "jsonb": JSONB, "json": JSONB,
}  # fmt: skip
_COLUMNS = """
    SELECT a.attname, format_type(a.atttypid, a.atttypmod), t.typname, e.typname, a.attnotnull,
           a.attnum = ANY (coalesce(i.indkey::int2[], '{}')), a.attgenerated <> ''
    FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
    LEFT JOIN pg_type e ON e.oid = t.typelem AND t.typcategory = 'A'
    LEFT JOIN pg_index i ON i.indrelid = a.attrelid AND i.indisprimary
    WHERE a.attrelid = %s AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
"""


def check_server(connection: Connection, options: PostgresCdcOptions, *, is_followed: bool) -> None:
    """The server decodes its log, the user may replicate, and the publication is there or can be.

    `is_followed`: the source exists, so that its own stream may have the slot.
    """
    (level,) = _row(connection, "SHOW wal_level")
    if level != "logical":
        hint = "Set wal_level = logical there, and start it again."
        raise InvalidParameterValue(f"PostgreSQL has wal_level {level}, but logical is needed", hint=hint)
    may = "SELECT rolsuper OR rolreplication FROM pg_roles WHERE rolname = current_user"
    rds = "SELECT count(*) > 0 FROM pg_roles WHERE rolname = 'rds_replication' AND pg_has_role(rolname, 'member')"
    if not _row(connection, may)[0] and not _row(connection, rds)[0]:
        hint = f"ALTER ROLE {double_quoted(options.user)} REPLICATION"
        raise InvalidParameterValue(f'user "{options.user}" may not replicate', hint=hint)
    slot = "SELECT plugin, database, active FROM pg_replication_slots WHERE slot_name = %s"
    found = connection.execute(slot, (options.slot,)).fetchone()
    if found is not None and found[2] and not is_followed:
        raise InvalidParameterValue(f'replication slot "{options.slot}" is in use', hint="Each source needs its own.")
    if found is not None and found[:2] != ("pgoutput", options.database):
        message = f'replication slot "{options.slot}" exists, but is not of pgoutput in "{options.database}"'
        raise InvalidParameterValue(message)
    _make_publication(connection, options)


def describe(connection: Connection, options: PostgresCdcOptions, name: str) -> UpstreamDescription:
    """The table's columns and key, after it has come into the publication."""
    schema, table = parts_of(name, options.schema)
    find = "SELECT c.oid, c.relkind, c.relpersistence FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
    found = connection.execute(f"{find} WHERE n.nspname = %s AND c.relname = %s", (schema, table)).fetchone()
    whole = whole_name(schema, table)
    if found is None:
        raise InvalidParameterValue(f'table "{whole}" does not exist upstream')
    oid, kind, persistence = found
    if kind != "r" or persistence != "p":
        raise InvalidParameterValue(f'"{whole}" is not an ordinary, logged table upstream')
    columns, key = [], []
    for column, shown, typname, element, not_null, in_key, generated in connection.execute(_COLUMNS, (oid,)):
        if generated:
            continue  # PostgreSQL does not send them
        columns.append(UpstreamColumn(column, type_of(typname, element), shown, bool(not_null)))
        if in_key:
            key.append(column)
    if not key:
        hint = "Rows are found again by it."
        raise InvalidParameterValue(f'table "{whole}" has no primary key upstream', hint=hint)
    (readable,) = _row(connection, "SELECT has_table_privilege(%s::oid, 'SELECT')", oid)
    if not readable:
        raise InvalidParameterValue(f'user "{options.user}" may not read table "{whole}"')
    _check_identity(connection, oid, whole, sql.Identifier(schema, table))
    _publish(connection, options, schema, table)
    shape = next((shape_text(each.shape) for each in current_tables(connection, options.publication, oids=[oid])), "")
    return UpstreamDescription(whole, tuple(columns), tuple(key), shape)


def end_of_log(connection: Connection) -> int:
    """Where the server's log ends now, in bytes."""
    end = "CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_flush_lsn() END"
    return int(_row(connection, f"SELECT {end} - '0/0'::pg_lsn")[0])


def _check_identity(connection: Connection, oid: int, whole: str, quoted: sql.Identifier) -> None:
    (identity,) = _row(connection, "SELECT relreplident FROM pg_class WHERE oid = %s", oid)
    if identity not in ("d", "f"):
        hint = f"ALTER TABLE {quoted.as_string()} REPLICA IDENTITY DEFAULT"
        message = f'the replica identity of table "{whole}" is neither its primary key nor FULL'
        raise InvalidParameterValue(message, hint=hint)


def _make_publication(connection: Connection, options: PostgresCdcOptions) -> None:
    known = connection.execute(
        "SELECT pubinsert AND pubupdate AND pubdelete AND pubtruncate FROM pg_publication WHERE pubname = %s",
        (options.publication,),
    ).fetchone()
    if known is None:
        if not options.creates_publication:
            raise InvalidParameterValue(f'publication "{options.publication}" does not exist')
        connection.execute(sql.SQL("CREATE PUBLICATION {}").format(sql.Identifier(options.publication)))
    elif not known[0]:
        raise InvalidParameterValue(f'publication "{options.publication}" does not publish all kinds of changes')


def _publish(connection: Connection, options: PostgresCdcOptions, schema: str, table: str) -> None:
    """The table is in the publication, with all of its rows and columns.

    The lock ends the transactions that have written to the table before: PostgreSQL would decode them with the
    publication as it was when they wrote.
    """
    whole = whole_name(schema, table)
    listed = "SELECT 1 FROM pg_publication_tables WHERE pubname = %s AND schemaname = %s AND tablename = %s"
    names = (options.publication, schema, table)
    if connection.execute(listed, names).fetchone() is not None:
        if connection.info.server_version >= 150000:
            part = connection.execute(f"{listed} AND (rowfilter IS NOT NULL)", names).fetchone()
            if part is not None:
                raise InvalidParameterValue(f'publication "{options.publication}" has a part of "{whole}"')
        return
    if not options.creates_publication:
        raise InvalidParameterValue(f'table "{whole}" is not in publication "{options.publication}"')
    named = {"table": sql.Identifier(schema, table), "publication": sql.Identifier(options.publication)}
    with connection.transaction():
        connection.execute(f"SET LOCAL lock_timeout = '{LOCK_SECONDS}s'")
        connection.execute(sql.SQL("LOCK TABLE {table} IN SHARE ROW EXCLUSIVE MODE").format(**named))
        connection.execute(sql.SQL("ALTER PUBLICATION {publication} ADD TABLE {table}").format(**named))


def type_of(name: str, element: str | None) -> SqlType:
    """The type that takes all values; of enums, uuids and all that is not here, the text."""
    if element is not None:
        return array_of(_TYPES.get(element, VARCHAR))
    return _TYPES.get(name, VARCHAR)


def _row(connection: Connection, query: str, *values: object) -> tuple[Any, ...]:
    found = connection.execute(query, values).fetchone()
    assert found is not None
    return tuple(found)
