"""What drivers send as parameters: the place of a call's result, and arrays of two dimensions."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from psycopg.pq import Format

from risingpy.frontend.wire import WireServer
from tests.postgres_oracle import PostgresOracle

_VOID, _INT4, _INTS, _TEXTS = 2278, 23, 1007, 1009
_GRID = b"{{1,2},{3,NULL}}"
_BINARY_GRID = bytes.fromhex(
    "00000002 00000001 00000017 00000002 00000001 00000002 00000001"
    "00000004 00000001 00000004 00000002 00000004 00000003 ffffffff"
)


@pytest.fixture
def connections(server: WireServer, postgres_oracle: PostgresOracle) -> Iterator[list[psycopg.Connection]]:
    """Ours, and PostgreSQL's."""
    ours = psycopg.connect(host="127.0.0.1", port=server.port, user="root", dbname="dev", autocommit=True)
    with ours, postgres_oracle.connect() as theirs:
        theirs.execute("DROP SCHEMA IF EXISTS public CASCADE; CREATE SCHEMA public")
        yield [ours, theirs]


def _answer(
    connection: psycopg.Connection, sql: str, oids: list[int], values: list[bytes | None], format_: int
) -> tuple[bytes, str | None, list[bytes | None]]:
    formats = [Format(format_)] * len(values)
    result = connection.pgconn.exec_params(sql.encode(), values, oids, formats, Format(format_))
    state = result.error_field(psycopg.pq.DiagnosticField.SQLSTATE)
    rows = [result.get_value(row, column) for row in range(result.ntuples) for column in range(result.nfields)]
    return (result.command_status or b"", None if state is None else state.decode(), rows)


CALLS = [
    ("SELECT * FROM twice($1, $2) AS result", [_VOID, _INT4], [None, b"21"]),
    ("SELECT twice($1, $2), upper('a')", [_VOID, _INT4], [None, b"21"]),
    ("SELECT * FROM abs($1, $2) AS result", [_VOID, _INT4], [None, b"-21"]),
    ("SELECT * FROM generate_series($1, $2, $3) AS result", [_VOID, _INT4, _INT4], [None, b"1", b"3"]),
    ("SELECT * FROM nowhere($1, $2) AS result", [_VOID, _INT4], [None, b"21"]),
    ("SELECT * FROM twice($1) AS result", [_VOID], [None]),
]
ARRAYS = [
    ("SELECT $1::int4[]", [_INTS]),
    ("SELECT $1", [_INTS]),
    ("SELECT $1::int4[]", [0]),
    ("SELECT ($1::int4[][])[2][1]", [_INTS]),
    ("SELECT array_length($1::int4[], 2), cardinality($1)", [_INTS]),
    ("INSERT INTO grids (ints) VALUES ($1) RETURNING ints", [_INTS]),
    ("SELECT ints FROM grids WHERE ints = $1", [_INTS]),
    ("UPDATE grids SET ints = $1 RETURNING ints", [_INTS]),
]


@pytest.mark.parametrize(("sql", "oids", "values"), CALLS)
def test_the_place_of_a_result_is_no_argument(
    connections: list[psycopg.Connection], sql: str, oids: list[int], values: list[bytes | None]
) -> None:
    for connection in connections:
        connection.execute("CREATE FUNCTION twice(n int) RETURNS int LANGUAGE sql AS 'SELECT 2 * n'")
    ours, theirs = (_answer(connection, sql, oids, values, Format.TEXT) for connection in connections)
    assert ours == theirs


@pytest.mark.parametrize("format_", [Format.TEXT, Format.BINARY], ids=["text", "binary"])
@pytest.mark.parametrize(("sql", "oids"), ARRAYS)
def test_arrays_of_two_dimensions(
    connections: list[psycopg.Connection], sql: str, oids: list[int], format_: Format
) -> None:
    value = _GRID if format_ == Format.TEXT else _BINARY_GRID
    for connection in connections:
        connection.execute("CREATE TABLE grids (id serial PRIMARY KEY, ints int[][])")
        connection.execute("INSERT INTO grids (ints) VALUES ('{{1,2},{3,NULL}}')")
    ours, theirs = (_answer(connection, sql, oids, [value], format_) for connection in connections)
    assert ours == theirs
    assert ours[1] is None


def test_drivers_lists_of_lists(server: WireServer) -> None:
    with psycopg.connect(host="127.0.0.1", port=server.port, user="root", dbname="dev", autocommit=True) as connection:
        for mark in ("%s", "%b", "%t"):
            for _ in range(8):  # prepared from the fifth on
                assert connection.execute(f"SELECT {mark}", ([[1, 2], [3, 4]],)).fetchone() == ([[1, 2], [3, 4]],)
                assert connection.execute(f"SELECT {mark}", ([1, 2],)).fetchone() == ([1, 2],)
        with pytest.raises(psycopg.Error) as malformed:
            connection.execute("SELECT %s::int[]", ("{{1,2},3}",))
        assert malformed.value.sqlstate == "22P02"
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_an_empty_char_is_a_zero_byte(connections: list[psycopg.Connection]) -> None:
    """Of attgenerated, for example, by which SQLAlchemy over asyncpg tells columns that are generated."""
    sql = "SELECT attgenerated, attidentity FROM pg_attribute WHERE attrelid = 'pg_class'::regclass AND attnum = 1"
    ours, theirs = (_answer(connection, sql, [], [], Format.BINARY) for connection in connections)
    assert ours == theirs
