"""What the other server says of itself: whether it can be followed, what its tables are, where its log ends.

All functions raise SourceUnavailable if it does not answer, InvalidParameterValue if it cannot do what is asked.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import astuple, dataclass
from typing import Any

import pymysql

from risingpy.connectors.mysql_cdc.column_texts import CHARACTER_SETS
from risingpy.connectors.mysql_cdc.options import MysqlCdcOptions
from risingpy.connectors.mysql_cdc.positions import Position
from risingpy.connectors.pushed import UpstreamColumn, UpstreamDescription
from risingpy.errors import InvalidParameterValue, SourceUnavailable
from risingpy.sql_quoting import back_quoted
from risingpy.types import (
    BIGINT,
    BOOLEAN,
    BYTEA,
    DATE,
    DOUBLE,
    INTEGER,
    JSONB,
    NUMERIC,
    REAL,
    SMALLINT,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    VARCHAR,
    SqlType,
)

STATEMENT_SECONDS = 4
_TYPES = {
    "tinyint": SMALLINT, "smallint": SMALLINT, "mediumint": INTEGER, "int": INTEGER, "bigint": BIGINT,
    "float": REAL, "double": DOUBLE, "decimal": NUMERIC, "date": DATE, "datetime": TIMESTAMP,
    "timestamp": TIMESTAMPTZ, "time": TIME, "year": SMALLINT, "bit": NUMERIC,
    "char": VARCHAR, "varchar": VARCHAR, "tinytext": VARCHAR, "text": VARCHAR, "mediumtext": VARCHAR,
    "longtext": VARCHAR, "enum": VARCHAR, "set": VARCHAR,
    "binary": BYTEA, "varbinary": BYTEA, "tinyblob": BYTEA, "blob": BYTEA, "mediumblob": BYTEA, "longblob": BYTEA,
}  # fmt: skip
_UNSIGNED = {"smallint": INTEGER, "int": BIGINT, "bigint": NUMERIC}
_NEEDED = {"log_bin": "ON", "binlog_format": "ROW", "binlog_row_image": "FULL", "binlog_row_metadata": "FULL"}
_REFUSED = {"log_bin_compress": "ON", "binlog_transaction_compression": "ON"}
_PRIVILEGES = ("REPLICATION SLAVE", "REPLICATION CLIENT or BINLOG MONITOR")
_TABLE = "SELECT table_type, engine FROM information_schema.tables WHERE table_schema = %s AND table_name = %s"
_COLUMNS = """
    SELECT column_name, data_type, column_type, coalesce(character_set_name, ''), is_nullable = 'NO'
    FROM information_schema.columns WHERE table_schema = %s AND table_name = %s AND extra NOT LIKE '%%VIRTUAL%%'
    ORDER BY ordinal_position
"""
_KEY = """
    SELECT column_name FROM information_schema.statistics
    WHERE table_schema = %s AND table_name = %s AND index_name = 'PRIMARY' ORDER BY seq_in_index
"""
_CHECKS = """
    SELECT check_clause FROM information_schema.check_constraints WHERE constraint_schema = %s AND table_name = %s
"""


@dataclass(frozen=True, slots=True)
class MysqlColumn:
    """A column. `character_set` is empty for what is no text; `is_json` is MariaDB's text with a check."""

    name: str
    data_type: str
    column_type: str
    character_set: str
    not_null: bool
    is_json: bool

    @property
    def is_unsigned(self) -> bool:
        return "unsigned" in self.column_type or self.data_type == "year"

    @property
    def type(self) -> SqlType:
        """The type that takes all its values."""
        if self.is_json:
            return JSONB
        if self.column_type == "bit(1)":
            return BOOLEAN
        found = _TYPES[self.data_type]
        return _UNSIGNED.get(self.data_type, found) if self.is_unsigned else found


@dataclass(frozen=True, slots=True)
class MysqlTable:
    """A table apart from its rows: its columns whose types are known here, and its key."""

    columns: tuple[MysqlColumn, ...]
    key: tuple[str, ...]

    def column(self, name: str) -> MysqlColumn | None:
        """The column of this name; None if there is none."""
        return next((column for column in self.columns if column.name == name), None)


def shape_text(shape: MysqlTable) -> str:
    """The shape as the catalog keeps it."""
    columns = [astuple(column) for column in shape.columns]
    return json.dumps([columns, shape.key], ensure_ascii=False, separators=(",", ":"))


def shape_of_text(text: str) -> MysqlTable:
    """What `shape_text` was given."""
    columns, key = json.loads(text)
    return MysqlTable(tuple(MysqlColumn(*column) for column in columns), tuple(key))


@contextmanager
def connected(options: MysqlCdcOptions, **more: Any) -> Iterator[pymysql.Connection]:
    """A connection in autocommit. What goes wrong on it becomes SourceUnavailable, with the other side's words."""
    try:
        connection = pymysql.connect(**{**options.connection(), **more})
        try:
            yield connection
        finally:
            connection._force_close()
    except (pymysql.Error, OSError) as error:
        where = f"MySQL at {options.host}:{options.port}"
        said = error.args[-1] if isinstance(error, pymysql.Error) and error.args else error
        raise SourceUnavailable(f"{where}: {said}") from error


def check_server(connection: pymysql.Connection) -> None:
    """The server writes a binary log that has whole rows and the names of columns, and the user may read it."""
    settings = {name: str(value).upper() for name, value in _rows(connection, "SHOW GLOBAL VARIABLES")}
    for name, needed in _NEEDED.items():
        found = settings.get(name, "not there")
        if found != needed:
            message = f"MySQL has {name} = {found}, but {needed} is needed"
            raise InvalidParameterValue(message, hint=f"Set {name} = {needed} there.")
    for name, refused in _REFUSED.items():
        if settings.get(name) == refused:
            raise InvalidParameterValue(f"MySQL has {name} = {refused}: compressed events are not supported")
    try:
        end_of_log(connection)
    except pymysql.Error as error:
        raise InvalidParameterValue(f"the user may not follow the binary log: {error.args[-1]}",
                                    hint=f"GRANT {', '.join(_PRIVILEGES)}") from error  # fmt: skip


def describe(connection: pymysql.Connection, options: MysqlCdcOptions, name: str) -> UpstreamDescription:
    """The table's columns and key."""
    database, _, table = name.rpartition(".")
    database = database or options.database
    whole = f"{database}.{table}"
    found = _rows(connection, _TABLE, database, table)
    if not found:
        raise InvalidParameterValue(f'table "{whole}" does not exist upstream')
    if found[0] != ("BASE TABLE", "InnoDB"):
        raise InvalidParameterValue(f'"{whole}" is not a table of InnoDB upstream')
    shape = current_shape(connection, whole)
    if not shape.key:
        raise InvalidParameterValue(f'table "{whole}" has no primary key upstream', hint="Rows are found again by it.")
    _rows(connection, f"SELECT 1 FROM {quoted_table(whole)} LIMIT 0")
    columns = [UpstreamColumn(c.name, c.type, c.column_type, c.not_null) for c in shape.columns]
    return UpstreamDescription(whole, tuple(columns), shape.key, shape_text(shape))


def current_shape(connection: pymysql.Connection, whole: str) -> MysqlTable:
    """The table as it is now; without columns if it is not there."""
    names = whole.split(".", 1)
    checks = {clause.lower() for (clause,) in _checks(connection, names)}
    columns = []
    for name, data_type, column_type, character_set, not_null in _rows(connection, _COLUMNS, *names):
        if data_type in _TYPES and (not character_set or character_set in CHARACTER_SETS):
            is_json = f"json_valid(`{name.lower()}`)" in checks
            columns.append(MysqlColumn(name, data_type, column_type.lower(), character_set, bool(not_null), is_json))
    return MysqlTable(tuple(columns), tuple(name for (name,) in _rows(connection, _KEY, *names)))


def end_of_log(connection: pymysql.Connection) -> Position:
    """Where the binary log ends now."""
    try:
        [found] = _rows(connection, "SHOW MASTER STATUS")
    except pymysql.ProgrammingError:  # MySQL 8.4 has another word for it
        [found] = _rows(connection, "SHOW BINARY LOG STATUS")
    return Position(found[0], int(found[1]))


def end(connection: pymysql.Connection, thread_id: int) -> None:
    """Ends another connection of the user, if it is still there: a server has one replica of each id."""
    with suppress(pymysql.Error, OSError), connection.cursor() as cursor:
        cursor.execute(f"KILL {thread_id}")


def quoted(name: str) -> str:
    """A name in a statement."""
    return back_quoted(name)


def quoted_table(whole: str) -> str:
    """A table's whole name in a statement."""
    return ".".join(map(quoted, whole.split(".", 1)))


def _checks(connection: pymysql.Connection, names: list[str]) -> list[tuple[Any, ...]]:
    try:
        return _rows(connection, _CHECKS, *names)
    except pymysql.Error:  # MySQL has no such column, and a type of its own for JSON
        return []


def _rows(connection: pymysql.Connection, query: str, *values: object) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(query, values or None)
        return list(cursor.fetchall())
