"""Sinks to a real PostgreSQL."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import psycopg
import pytest

from risingpy.connectors.targets.postgres import PostgresTarget
from risingpy.connectors.targets.target import SinkSchema, SinkType
from risingpy.errors import FeatureNotSupported, InvalidParameterValue, SqlError, TargetUnavailable, UndefinedTable
from risingpy.types import (
    BIGINT,
    BOOLEAN,
    BYTEA,
    CHARACTER,
    DATE,
    DOUBLE,
    INT256,
    INTEGER,
    INTERVAL,
    JSONB,
    NUMERIC,
    REAL,
    SMALLINT,
    TIME,
    TIMESTAMP,
    TIMESTAMP_NS,
    TIMESTAMPTZ,
    UUID,
    VARCHAR,
    SqlType,
    TypeKind,
    array_of,
    map_of,
    numeric,
)
from tests.connectors.targets.changes import Row, changes_of
from tests.connectors.targets.killed import kill_everywhere
from tests.postgres_oracle import PostgresOracle

Connection = psycopg.Connection[tuple[Any, ...]]
SCHEMA = SinkSchema("s", (("id", BIGINT), ("name", VARCHAR), ("n", INTEGER)), (0,), SinkType.UPSERT)


@pytest.fixture
def database(postgres_oracle: PostgresOracle) -> Iterator[Connection]:
    with postgres_oracle.connect() as connection:
        connection.execute("DROP SCHEMA IF EXISTS out CASCADE; CREATE SCHEMA out")
        connection.execute("CREATE TABLE out.t (n bigint, id bigint PRIMARY KEY, name text)")
        yield connection


def options_of(oracle: PostgresOracle, **more: str) -> dict[str, str]:
    return {
        "connector": "postgres",
        "host": str(oracle.directory),
        "port": str(oracle.port),
        "user": "postgres",
        "password": "hunter2",
        "database": "postgres",
        "schema": "out",
        "table": "t",
        **more,
    }


def rows_of(database: Connection) -> list[tuple[Any, ...]]:
    return database.execute("SELECT id, name, n FROM out.t ORDER BY id").fetchall()


def test_inserts_updates_and_deletes(postgres_oracle: PostgresOracle, database: Connection) -> None:
    target = PostgresTarget(options_of(postgres_oracle), SCHEMA)
    target.check()
    assert database.execute("SELECT to_regclass('out.risingpy_sink_epochs')").fetchone() == (None,)
    assert target.open() is None
    target.deliver(5, [changes_of(SCHEMA, [(1, ["1", "a", "1"]), (1, ["2", "b", None])])])
    target.deliver(6, [changes_of(SCHEMA, [(-1, ["1", "a", "1"]), (-1, ["2", "b", None]), (1, ["1", "A", "9"])])])
    assert rows_of(database) == [(1, "A", 9)]
    target.deliver(6, [changes_of(SCHEMA, [(1, ["7", "twice", "7"])])])
    target.deliver(5, [changes_of(SCHEMA, [(1, ["7", "twice", "7"])])])
    assert rows_of(database) == [(1, "A", 9)]
    target.close()
    again = PostgresTarget(options_of(postgres_oracle), SCHEMA)
    assert again.open() == 6
    again.deliver(8, [])
    again.close()
    assert again.open() == 8
    again.close()


def test_an_append_only_sink_needs_no_key(postgres_oracle: PostgresOracle, database: Connection) -> None:
    database.execute("CREATE TABLE out.log (n int, t text)")
    schema = SinkSchema("log", (("n", SMALLINT), ("t", VARCHAR)), (), SinkType.APPEND_ONLY)
    target = PostgresTarget(options_of(postgres_oracle, table="log"), schema)
    target.check()
    for epoch in (1, 2, 2):
        target.deliver(epoch, [changes_of(schema, [(1, ["1", "x"]), (1, ["1", "x"])])])
    target.close()
    assert database.execute("SELECT n, t FROM out.log").fetchall() == [(1, "x")] * 4


def test_a_key_of_several_columns_and_nothing_else(postgres_oracle: PostgresOracle, database: Connection) -> None:
    database.execute("CREATE TABLE out.pairs (a text, b numeric, PRIMARY KEY (a, b))")
    schema = SinkSchema("pairs", (("a", VARCHAR), ("b", NUMERIC)), (1, 0), SinkType.UPSERT)
    target = PostgresTarget(options_of(postgres_oracle, table="pairs"), schema)
    target.check()
    target.deliver(1, [changes_of(schema, [(1, ["x", "1.5"]), (1, ["x", "2"]), (1, ["", "-3"])])])
    target.deliver(2, [changes_of(schema, [(-1, ["x", "1.5"]), (-1, ["x", "2"]), (1, ["x", "2"])])])
    # 1.50 equals 1.5, so that the row comes again with another number of decimals.
    target.deliver(3, [changes_of(schema, [(-1, ["x", "2"]), (1, ["x", "2.00"])])])
    target.close()
    assert [(a, str(b)) for a, b in database.execute("SELECT * FROM out.pairs ORDER BY a")] == [
        ("", "-3"),
        ("x", "2.00"),
    ]


CASES: list[tuple[SqlType, str]] = [
    (BOOLEAN, "t"),
    (SMALLINT, "-7"),
    (INTEGER, "7"),
    (BIGINT, "9223372036854775807"),
    (REAL, "0.1"),
    (DOUBLE, "NaN"),
    (NUMERIC, "12345678901234567890.50"),
    (numeric(10, 2, declared=True), "-1.50"),
    (VARCHAR, "é\n\\"),
    (CHARACTER, "a"),
    (BYTEA, "\\x00ff"),
    (DATE, "0001-01-01"),
    (TIME, "23:59:59.999999"),
    (TIMESTAMP, "2024-02-29 01:02:03.000004"),
    (TIMESTAMPTZ, "2024-02-29 01:02:03.000004+00"),
    (INTERVAL, "1 year -2 days 00:00:01.5"),
    (JSONB, '{"a": [1.50, null]}'),
    (UUID, "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
    (SqlType(TypeKind.MACADDR), "08:00:2b:01:02:03"),
    (array_of(VARCHAR), '{a,NULL,"x,y"}'),
    (array_of(array_of(INTEGER)), "{{1,2},{3,4}}"),
]


def test_every_type_arrives_as_it_was(postgres_oracle: PostgresOracle, database: Connection) -> None:
    columns = tuple((f"v{n}", type_) for n, (type_, _) in enumerate(CASES))
    schema = SinkSchema("types", (("id", INTEGER), *columns), (0,), SinkType.UPSERT)
    database.execute(
        "CREATE TABLE out.types (id int PRIMARY KEY, " + ", ".join(f"{name} {type_}" for name, type_ in columns) + ")"
    )
    target = PostgresTarget(options_of(postgres_oracle, table="types"), schema)
    target.check()
    rows: list[tuple[int, Row]] = [(1, ["1", *(text for _, text in CASES)]), (1, ["2", *(None for _ in CASES)])]
    target.deliver(1, [changes_of(schema, rows)])
    target.close()
    same = [f"v{n}::text = '{text}'::{type_}::text" for n, (type_, text) in enumerate(CASES)]
    assert database.execute(f"SELECT {', '.join(same)} FROM out.types WHERE id = 1").fetchone() == (True,) * len(CASES)
    nulls = database.execute(f"SELECT num_nulls({', '.join(n for n, _ in columns)}) FROM out.types WHERE id = 2")
    assert nulls.fetchone() == (len(CASES),)


def test_int256_is_numeric_there(postgres_oracle: PostgresOracle, database: Connection) -> None:
    database.execute("CREATE TABLE out.big (k numeric PRIMARY KEY)")
    schema = SinkSchema("big", (("k", INT256),), (0,), SinkType.UPSERT)
    target = PostgresTarget(options_of(postgres_oracle, table="big"), schema)
    target.check()
    large = str(-(2**200))
    target.deliver(1, [changes_of(schema, [(1, [large]), (1, ["5"])])])
    target.deliver(2, [changes_of(schema, [(-1, ["5"])])])
    target.close()
    assert [str(k) for (k,) in database.execute("SELECT k FROM out.big")] == [large]


def test_nanoseconds_are_rounded_there(postgres_oracle: PostgresOracle, database: Connection) -> None:
    database.execute("CREATE TABLE out.moments (k timestamp PRIMARY KEY)")
    schema = SinkSchema("moments", (("k", TIMESTAMP_NS),), (0,), SinkType.UPSERT)
    target = PostgresTarget(options_of(postgres_oracle, table="moments"), schema)
    target.check()
    first, second = "2024-01-01 00:00:00.123456789", "1969-12-31 23:59:59.999999999"
    target.deliver(1, [changes_of(schema, [(1, [first]), (1, [second])])])
    target.deliver(2, [changes_of(schema, [(-1, [second])])])
    target.close()
    assert database.execute("SELECT k::text FROM out.moments").fetchall() == [("2024-01-01 00:00:00.123457",)]


def test_kills_between_all_steps(postgres_oracle: PostgresOracle, database: Connection) -> None:
    """Each epoch adds a row, changes the row of the epoch before, and deletes the one before that."""
    database.execute("CREATE TABLE out.seen (id bigint)")
    database.execute(
        "CREATE FUNCTION out.note() RETURNS trigger LANGUAGE plpgsql AS "
        "'BEGIN INSERT INTO out.seen VALUES (new.id); RETURN new; END'"
    )
    database.execute("CREATE TRIGGER note AFTER INSERT ON out.t FOR EACH ROW EXECUTE FUNCTION out.note()")

    def changes(epoch: int) -> list[Any]:
        rows: list[tuple[int, Row]] = [(1, [str(epoch), "new", None])]
        if epoch > 1:
            rows += [(-1, [str(epoch - 1), "new", None]), (1, [str(epoch - 1), "old", None])]
        if epoch > 2:
            rows += [(-1, [str(epoch - 2), "old", None])]
        return [changes_of(SCHEMA, rows)]

    def check(epoch: int) -> None:
        before = [(epoch - 1, "old", None)] if epoch > 1 else []
        assert rows_of(database) == [*before, (epoch, "new", None)]
        # Every row was inserted once: a second delivery would have inserted some again.
        assert database.execute("SELECT array_agg(id) FROM out.seen").fetchone() == (list(range(1, epoch + 1)),)

    kills = kill_everywhere(partial(PostgresTarget, options_of(postgres_oracle), SCHEMA), changes, check)
    assert kills > 30


def test_a_second_server_does_not_deliver_an_epoch_again(postgres_oracle: PostgresOracle, database: Connection) -> None:
    first, second = (PostgresTarget(options_of(postgres_oracle), SCHEMA) for _ in range(2))
    assert first.open() is second.open() is None
    first.deliver(1, [changes_of(SCHEMA, [(1, ["1", "first", None])])])
    second.deliver(1, [changes_of(SCHEMA, [(1, ["1", "second", None])])])
    assert rows_of(database) == [(1, "first", None)]
    first.close()
    second.close()


@pytest.mark.parametrize(
    ("more", "error", "text"),
    [
        ({"colour": "red"}, InvalidParameterValue, 'unknown option "colour" of the postgres sink'),
        ({"table": ""}, InvalidParameterValue, "needs the option table"),
        ({"port": "x"}, InvalidParameterValue, "port"),
        ({"connector": "jdbc"}, InvalidParameterValue, "unknown option"),
    ],
)
def test_wrong_options(postgres_oracle: PostgresOracle, more: dict[str, str], error: type[SqlError], text: str) -> None:
    with pytest.raises(error, match=text):
        PostgresTarget(options_of(postgres_oracle, **more), SCHEMA)


def test_jdbc_urls() -> None:
    options = {"connector": "jdbc", "jdbc.url": "jdbc:postgresql://db:5433/d?user=u&password=p", "table.name": "t"}
    target = PostgresTarget(options, SCHEMA)
    connect = psycopg.conninfo.conninfo_to_dict(target._conninfo)
    assert {"host": "db", "port": "5433", "dbname": "d", "user": "u", "password": "p"}.items() <= connect.items()
    with pytest.raises(FeatureNotSupported, match="PostgreSQL only"):
        PostgresTarget({**options, "jdbc.url": "jdbc:mysql://db/d"}, SCHEMA)


def test_what_postgres_cannot_hold_is_refused(postgres_oracle: PostgresOracle) -> None:
    schema = SinkSchema("s", (("m", map_of(VARCHAR, INTEGER)),), (), SinkType.APPEND_ONLY)
    with pytest.raises(FeatureNotSupported, match='column "m"'):
        PostgresTarget(options_of(postgres_oracle), schema)


@pytest.mark.parametrize(
    ("ddl", "error", "state"),
    [
        ("DROP TABLE out.t", UndefinedTable, "42P01"),
        ("ALTER TABLE out.t DROP COLUMN name", SqlError, "42703"),
        ("ALTER TABLE out.t ALTER n TYPE smallint", SqlError, "42804"),
        ("ALTER TABLE out.t DROP CONSTRAINT t_pkey", SqlError, "42P10"),
        ("ALTER TABLE out.t ALTER name TYPE integer USING 1", SqlError, "42804"),
    ],
)
def test_check_sees_what_does_not_fit(
    postgres_oracle: PostgresOracle, database: Connection, ddl: str, error: type[SqlError], state: str
) -> None:
    database.execute(ddl)
    with pytest.raises(error) as raised:
        PostgresTarget(options_of(postgres_oracle), SCHEMA).check()
    assert raised.value.sqlstate == state
    assert not isinstance(raised.value, TargetUnavailable)


def test_a_dead_server_is_unavailable_and_no_password_is_told(postgres_oracle: PostgresOracle) -> None:
    for host in ("127.0.0.1", "192.0.2.1"):  # nothing listens; nothing answers
        target = PostgresTarget(options_of(postgres_oracle, host=host, port="1"), SCHEMA)
        started = time.monotonic()
        for attempt in (target.check, target.open):
            with pytest.raises(TargetUnavailable) as raised:
                attempt()
            assert raised.value.sqlstate == "HV00N"
            assert "hunter2" not in raised.value.message
            assert time.monotonic() - started < 5
            started = time.monotonic()


def test_a_lost_connection_is_made_again(postgres_oracle: PostgresOracle, database: Connection) -> None:
    target = PostgresTarget(options_of(postgres_oracle), SCHEMA)
    target.open()
    database.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'risingpy sink'")
    changes = [changes_of(SCHEMA, [(1, ["1", "a", None])])]
    with pytest.raises(TargetUnavailable):
        target.deliver(1, changes)
    target.deliver(1, changes)
    target.close()
    assert rows_of(database) == [(1, "a", None)]


def test_a_table_that_goes_is_a_permanent_error(postgres_oracle: PostgresOracle, database: Connection) -> None:
    target = PostgresTarget(options_of(postgres_oracle), SCHEMA)
    target.open()
    database.execute("DROP TABLE out.t")
    with pytest.raises(SqlError, match=r"out\.t") as raised:
        target.deliver(1, [changes_of(SCHEMA, [(1, ["1", "a", None])])])
    assert raised.value.sqlstate == "42P01"
    assert not isinstance(raised.value, TargetUnavailable)
    target.close()


def test_postgres_casts_items_of_arrays_and_values_of_domains(
    postgres_oracle: PostgresOracle, database: Connection
) -> None:
    database.execute("DROP DOMAIN IF EXISTS short CASCADE; CREATE DOMAIN short AS varchar(20)")
    database.execute("CREATE TABLE out.cast_to (id bigint PRIMARY KEY, texts text[], numbers bigint[], name short)")
    columns = (("id", BIGINT), ("texts", array_of(VARCHAR)), ("numbers", array_of(INTEGER)), ("name", VARCHAR))
    schema = SinkSchema("casts", columns, (0,), SinkType.UPSERT)
    target = PostgresTarget(options_of(postgres_oracle, table="cast_to"), schema)
    target.check()
    target.deliver(1, [changes_of(schema, [(1, ["1", '{a,NULL,"b c"}', "{1,2}", "x"])])])
    target.close()
    found = database.execute("SELECT id, texts, numbers, name FROM out.cast_to").fetchall()
    assert found == [(1, ["a", None, "b c"], [1, 2], "x")]
    database.execute("ALTER TABLE out.cast_to ALTER numbers TYPE smallint[]")  # which could lose digits
    with pytest.raises(SqlError) as raised:
        PostgresTarget(options_of(postgres_oracle, table="cast_to"), schema).check()
    assert raised.value.sqlstate == "42804"
    database.execute("DROP TABLE out.cast_to; DROP DOMAIN short")
