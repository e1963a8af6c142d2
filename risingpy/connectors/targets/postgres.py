"""Sinks to PostgreSQL: `connector = 'postgres'`, or `'jdbc'` with a `jdbc.url` of PostgreSQL."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from urllib.parse import unquote_plus

import numpy as np
import psycopg
import pyarrow as pa
from psycopg import sql
from psycopg.conninfo import make_conninfo

from risingpy.connectors.targets.binary_copy import HEADER, SLICE_ROWS, TRAILER, copy_rows
from risingpy.connectors.targets.encoders.changes import Positions, column, ops_of, pair_updates, whole
from risingpy.connectors.targets.options import Options
from risingpy.connectors.targets.target import SinkSchema, SinkType
from risingpy.errors import (
    FeatureNotSupported,
    InvalidParameterValue,
    SqlError,
    TargetUnavailable,
    UndefinedTable,
)
from risingpy.types import SqlType, TypeKind
from risingpy.types.field_bytes import bytes_of

_OPTIONS = ("host", "port", "user", "password", "database", "schema", "table", "ssl_mode", "ssl_root_cert")
_JDBC_OPTIONS = ("jdbc.url", "table.name", "schema.name", "user", "password")
_URL = re.compile(r"jdbc:postgresql://([^/:?]+)(?::([0-9]+))?/([^?]+)(?:\?(.*))?")
_EPOCHS = "risingpy_sink_epochs"
_ROWS, _DELETED = "risingpy_rows", "risingpy_deleted"  # temporary tables
_CASTS: Mapping[TypeKind, str] = {TypeKind.INT256: "numeric", TypeKind.TIMESTAMP_NS: "timestamp without time zone"}
"""What becomes of types that PostgreSQL does not have; they are written as text."""
# Connection, resources, concurrency, an operator's intervention, a standby: the same statement may succeed later.
_MAY_SUCCEED_LATER = ("08", "53", "40", "57", "55", "25006", "58")
# Without these a peer whose machine is gone would hold the sink's thread for hours.
_PATIENCE = {"connect_timeout": "3", "keepalives_idle": "10", "keepalives_interval": "5", "tcp_user_timeout": "30000"}
_CHECK_MILLISECONDS = 1500

_COLUMNS_OF_TABLE = """
    SELECT a.attname, format_type(a.atttypid, a.atttypmod),
           a.atttypid = ours.oid OR ours.is_array = theirs.is_array AND (ours.leaf = theirs.leaf
               OR EXISTS (SELECT FROM pg_cast c WHERE c.castsource = ours.leaf AND c.casttarget = theirs.leaf
                   AND (c.castcontext = 'i' OR c.castcontext = 'a' AND ours.leaf IN (1043, 1042, 3802))))
    FROM unnest(%s::text[], %s::text[]) AS s(name, type)
    JOIN pg_attribute a ON a.attname = s.name AND a.attrelid = %s::regclass AND a.attnum > 0 AND NOT a.attisdropped
    JOIN pg_type written ON written.oid = a.atttypid
    CROSS JOIN LATERAL (
        SELECT oid, typcategory = 'A' AS is_array, CASE WHEN typcategory = 'A' THEN typelem ELSE oid END AS leaf
        FROM pg_type WHERE oid = s.type::regtype) ours
    CROSS JOIN LATERAL (  -- of a domain, the type that it restricts
        SELECT typcategory = 'A' AS is_array, CASE WHEN typcategory = 'A' THEN typelem ELSE oid END AS leaf
        FROM pg_type WHERE oid = CASE WHEN written.typtype = 'd' THEN written.typbasetype ELSE written.oid END) theirs
"""


class PostgresTarget:
    """A `SinkTarget` that keeps a table of PostgreSQL equal to the sink's rows. Exactly once.

    The table `risingpy_sink_epochs`, beside the target, has a row for each sink with the last epoch delivered. An epoch
    is one transaction: it locks that row, ends if the row has the epoch already, deletes and inserts, and writes the
    epoch into the row. So an epoch is there with its number, or not at all, and of two servers that deliver the same
    epoch, the second one finds it.

    Append-only sinks insert; upsert sinks insert or update by the primary key, which must be unique in the table.
    """

    keeps_epochs = True

    def __init__(self, options: Mapping[str, str], schema: SinkSchema) -> None:
        """Raises InvalidParameterValue or FeatureNotSupported; connects to nothing."""
        self._options = Options(f"the {options.get('connector', 'postgres')} sink", options)
        self._conninfo, self._schema_name, self._table_name = _where(self._options)
        self._schema = schema
        self._check_schema()
        self._statements = _Statements(schema, sql.Identifier(self._schema_name, self._table_name))
        # Not as arguments: beside those, psycopg takes a % in a schema's name for a place of one more.
        self._epochs, self._name = sql.Identifier(self._schema_name, _EPOCHS), sql.Literal(schema.name)
        self._connection: psycopg.Connection[tuple[object, ...]] | None = None

    def check(self) -> None:
        """Runs what a delivery runs, of no rows, and rolls back. Raises SqlError within 5 s."""
        with self._errors():
            timeout = f"-c statement_timeout={_CHECK_MILLISECONDS}"
            with (
                psycopg.connect(self._conninfo, autocommit=True, options=timeout) as connection,
                connection.transaction(force_rollback=True),
            ):
                self._check_columns(connection)
                connection.execute(self._create_epochs())
                for statement in (*self._statements.staging, *self._statements.writing):
                    connection.execute(statement)

    def open(self) -> int | None:
        self.close()
        with self._errors():
            connection = psycopg.connect(self._conninfo, autocommit=True)
            self._connection = connection
            connection.execute(self._create_epochs())
            insert = sql.SQL("INSERT INTO {} VALUES ({}, 0) ON CONFLICT DO NOTHING")
            connection.execute(insert.format(self._epochs, self._name))
            for statement in self._statements.staging:
                connection.execute(statement)
            return self._delivered(connection) or None

    def deliver(self, epoch: int, changes: Sequence[pa.Table]) -> None:
        if self._connection is None:
            self.open()
        connection = self._connection
        assert connection is not None
        with self._errors(), connection.transaction():
            if self._delivered(connection, lock=True) >= epoch:
                return
            if any(table.num_rows for table in changes):
                self._write(connection, whole(changes))
            update = sql.SQL("UPDATE {} SET epoch = {} WHERE sink = {}")
            connection.execute(update.format(self._epochs, sql.Literal(epoch), self._name))

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _write(self, connection: psycopg.Connection[tuple[object, ...]], rows: pa.Table) -> None:
        ops = ops_of(rows)
        inserted: Positions = np.flatnonzero(ops > 0)
        if self._schema.type is SinkType.UPSERT:
            deleted = self._only_deleted(rows)
            if len(deleted):
                self._copy(connection, _DELETED, rows, self._schema.primary_key, deleted)
                connection.execute(self._statements.delete)
        if len(inserted):
            self._copy(connection, _ROWS, rows, range(len(self._schema.columns)), inserted)
            connection.execute(self._statements.insert)

    def _only_deleted(self, rows: pa.Table) -> Positions:
        """The rows to delete: an update's row is replaced, and its foreign keys and triggers see an update."""
        if not len(np.flatnonzero(ops_of(rows) < 0)):
            return np.empty(0, np.int64)
        key = [(self._schema.columns[index][1], column(rows, index)) for index in self._schema.primary_key]
        updates = pair_updates(ops_of(rows), copy_rows(key))
        return updates.before[updates.after < 0]

    def _copy(
        self,
        connection: psycopg.Connection[tuple[object, ...]],
        staged: str,
        rows: pa.Table,
        columns: Sequence[int],
        positions: Positions,
    ) -> None:
        types = [self._schema.columns[index][1] for index in columns]
        taken = [column(rows, index).take(pa.array(positions)) for index in columns]
        statement = sql.SQL("COPY {} FROM STDIN (FORMAT binary)").format(_staged(staged))
        with connection.cursor() as cursor, cursor.copy(statement) as copy:
            copy.write(HEADER)
            for start in range(0, len(positions), SLICE_ROWS):
                part = [array.slice(start, SLICE_ROWS) for array in taken]
                copy.write(bytes_of(copy_rows(list(zip(types, part, strict=True)))))
            copy.write(TRAILER)

    def _delivered(self, connection: psycopg.Connection[tuple[object, ...]], *, lock: bool = False) -> int:
        query = sql.SQL("SELECT epoch FROM {} WHERE sink = {}" + (" FOR UPDATE" if lock else ""))
        found = connection.execute(query.format(self._epochs, self._name)).fetchone()
        if found is None:
            raise SqlError(f'the row of sink "{self._schema.name}" in {_EPOCHS} is gone', sqlstate="55000")
        epoch = found[0]
        assert isinstance(epoch, int)
        return epoch

    def _create_epochs(self) -> sql.Composed:
        return sql.SQL("CREATE TABLE IF NOT EXISTS {} (sink text PRIMARY KEY, epoch bigint NOT NULL)").format(
            self._epochs
        )

    def _check_schema(self) -> None:
        if self._schema.type not in (SinkType.APPEND_ONLY, SinkType.UPSERT):
            raise FeatureNotSupported(f"{self._options.owner} cannot be {self._schema.type.value}")
        if self._schema.type is SinkType.UPSERT and not self._schema.primary_key:
            raise InvalidParameterValue("primary key not defined for upsert sink")
        for name, type_ in self._schema.columns:
            if _refused(type_):
                hint = "Cast it to jsonb or varchar in the sink's query."
                raise FeatureNotSupported(f'column "{name}" of type {type_} cannot go to PostgreSQL', hint=hint)

    def _check_columns(self, connection: psycopg.Connection[tuple[object, ...]]) -> None:
        table = self._statements.table.as_string()
        if connection.execute("SELECT to_regclass(%s)", [table]).fetchone() == (None,):
            raise UndefinedTable(f'table "{self._schema_name}.{self._table_name}" does not exist in PostgreSQL')
        names = [name for name, _ in self._schema.columns]
        types = [staged_type(type_) for _, type_ in self._schema.columns]
        found = connection.execute(_COLUMNS_OF_TABLE, [names, types, table]).fetchall()
        there = {name: (shown, fits) for name, shown, fits in found}
        for name, type_ in self._schema.columns:
            if name not in there:
                raise SqlError(f'column "{name}" does not exist in table {table} of PostgreSQL', sqlstate="42703")
            shown, fits = there[name]
            if not (fits or shown == _CASTS.get(type_.kind)):
                message = f'column "{name}" is of type {type_}, but of type {shown} in table {table} of PostgreSQL'
                raise SqlError(message, sqlstate="42804")

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """psycopg's errors as ours. After one the connection is closed, since its state is not known."""
        try:
            yield
        except psycopg.Error as error:
            self.close()
            message = self._options.masked(str(error).strip())
            state = error.sqlstate
            if state is None or state.startswith(_MAY_SUCCEED_LATER):
                raise TargetUnavailable(f"PostgreSQL: {message}") from None
            raise SqlError(f"PostgreSQL: {message}", sqlstate=state) from None


class _Statements:
    """The statements of a sink: `staging` makes the temporary tables, `writing` is what a delivery runs."""

    def __init__(self, schema: SinkSchema, table: sql.Identifier) -> None:
        self.table = table
        every = range(len(schema.columns))
        self.staging = [_temporary(_ROWS, schema, every)]
        names = [sql.Identifier(name) for name, _ in schema.columns]
        chosen = sql.SQL(", ").join(map(_chosen, schema.columns))
        self.insert = sql.SQL("INSERT INTO {} ({}) SELECT {} FROM {}").format(
            table, sql.SQL(", ").join(names), chosen, _staged(_ROWS)
        )
        self.writing = [self.insert]
        if schema.type is SinkType.UPSERT:
            self.insert += _on_conflict(schema)
            self.delete = _delete(schema, table)
            self.staging.append(_temporary(_DELETED, schema, schema.primary_key))
            self.writing = [self.delete, self.insert]


def _staged(name: str) -> sql.Identifier:
    return sql.Identifier("pg_temp", name)


def _temporary(name: str, schema: SinkSchema, columns: Sequence[int]) -> sql.Composed:
    fields = [
        sql.SQL("{} {}").format(sql.Identifier(column), sql.SQL(staged_type(type_)))
        for column, type_ in (schema.columns[index] for index in columns)
    ]
    return sql.SQL("CREATE TEMP TABLE IF NOT EXISTS {} ({}) ON COMMIT DELETE ROWS").format(
        sql.Identifier(name), sql.SQL(", ").join(fields)
    )


def _chosen(field: tuple[str, SqlType]) -> sql.Composable:
    name = sql.Identifier(field[0])
    cast = _CASTS.get(field[1].kind)
    return name if cast is None else sql.SQL("{}::{}").format(name, sql.SQL(cast))


def _delete(schema: SinkSchema, table: sql.Identifier) -> sql.Composed:
    conditions = [
        sql.SQL("t.{} = {}").format(sql.Identifier(name), sql.SQL("d.") + _chosen((name, type_)))
        for name, type_ in (schema.columns[index] for index in schema.primary_key)
    ]
    return sql.SQL("DELETE FROM {} t USING {} d WHERE {}").format(
        table, _staged(_DELETED), sql.SQL(" AND ").join(conditions)
    )


def _on_conflict(schema: SinkSchema) -> sql.Composed:
    key = sql.SQL(", ").join(sql.Identifier(schema.columns[index][0]) for index in schema.primary_key)
    others = [sql.Identifier(name) for index, (name, _) in enumerate(schema.columns) if index not in schema.primary_key]
    if not others:
        return sql.SQL(" ON CONFLICT ({}) DO NOTHING").format(key)
    changes = sql.SQL(", ").join(sql.SQL("{0} = excluded.{0}").format(name) for name in others)
    return sql.SQL(" ON CONFLICT ({}) DO UPDATE SET {}").format(key, changes)


def staged_type(type_: SqlType) -> str:
    """PostgreSQL's type of a column on its way."""
    return "text" if type_.kind in _CASTS else str(type_)


def _refused(type_: SqlType) -> bool:
    if type_.kind is TypeKind.ARRAY:
        return type_.leaf.kind in (TypeKind.STRUCT, TypeKind.MAP, *_CASTS)
    return type_.kind in (TypeKind.STRUCT, TypeKind.MAP)


def _where(options: Options) -> tuple[str, str, str]:
    """The connection string, the schema and the table."""
    if options.text("connector") == "jdbc":
        return _where_by_url(options)
    options.refuse_unknown(_OPTIONS)
    connect = {
        "host": options.required("host"),
        "port": str(options.number("port", 5432, least=1, most=65535)),
        "user": options.required("user"),
        "password": options.text("password"),
        "dbname": options.required("database"),
        "sslmode": options.text("ssl_mode", "prefer"),
        "sslrootcert": options.text("ssl_root_cert"),
    }
    return _known(connect), options.text("schema", "public"), options.required("table")


def _where_by_url(options: Options) -> tuple[str, str, str]:
    options.refuse_unknown(_JDBC_OPTIONS)
    url = _URL.fullmatch(options.required("jdbc.url"))
    if url is None:
        raise FeatureNotSupported(
            "the jdbc sink writes to PostgreSQL only", hint="jdbc.url is 'jdbc:postgresql://host:port/database?user=…'."
        )
    # As PostgreSQL's driver for Java reads it: names and values may have their signs as %40.
    pairs = [pair.partition("=") for pair in (url[4] or "").split("&")]
    arguments = {unquote_plus(name): unquote_plus(value) for name, equals, value in pairs if equals}
    connect = {
        "host": url[1],
        "port": url[2] or "5432",
        "dbname": unquote_plus(url[3]),
        "user": options.text("user", arguments.get("user", "")),
        "password": options.text("password", arguments.get("password", "")),
        "sslmode": arguments.get("sslmode", "prefer"),
    }
    return _known(connect), options.text("schema.name", "public"), options.required("table.name")


def _known(connect: Mapping[str, str]) -> str:
    given = {name: value for name, value in connect.items() if value}
    return make_conninfo(**given, **_PATIENCE, application_name="risingpy sink")
