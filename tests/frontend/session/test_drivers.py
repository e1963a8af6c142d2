"""psycopg, asyncpg and pg8000 on a real database: the queries that they send by themselves work."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from decimal import Decimal
from typing import Any
from uuid import uuid4

import asyncpg
import pg8000.dbapi
import psycopg
import pytest
from psycopg.types import TypeInfo
from psycopg.types.json import Jsonb

from risingpy.frontend.wire import WireServer


@pytest.fixture
def connection(server: WireServer) -> Iterator[psycopg.Connection[Any]]:
    dsn = f"host=127.0.0.1 port={server.port} user=root dbname=dev"
    with psycopg.connect(dsn, autocommit=True) as opened:
        opened.execute("CREATE TABLE t (id bigint PRIMARY KEY, name varchar NOT NULL, price numeric(8, 2))")
        yield opened


def test_psycopg_dml_and_binary_results(connection: psycopg.Connection[Any]) -> None:
    with connection.cursor() as cursor:
        cursor.executemany("INSERT INTO t VALUES (%s,%s,%s)", [(i, f"n{i}", Decimal(i) / 4) for i in range(20)])
    with connection.cursor(binary=True) as cursor:
        rows = cursor.execute("SELECT * FROM t WHERE id = %s", [7]).fetchall()
    assert rows == [(7, "n7", Decimal("1.75"))]
    updated = connection.execute("UPDATE t SET price = price + %s WHERE id < %s RETURNING id", [Decimal("0.5"), 2])
    assert sorted(updated.fetchall()) == [(0,), (1,)]


def test_psycopg_copy(connection: psycopg.Connection[Any]) -> None:
    with connection.cursor() as cursor:
        with cursor.copy("COPY t (id, name) FROM STDIN") as copy:
            for i in range(1000):
                copy.write_row((i, f"row {i}"))
        assert cursor.rowcount == 1000
        with cursor.copy("COPY (SELECT id FROM t WHERE id < 3 ORDER BY id) TO STDOUT") as copy:
            assert b"".join(copy) == b"0\n1\n2\n"
        query = "SELECT id, name, price FROM t WHERE id < 2 ORDER BY id"
        with cursor.copy(f"COPY ({query}) TO STDOUT (FORMAT csv, FORCE_QUOTE (name, price))") as copy:
            assert b"".join(copy) == b'0,"row 0",\n1,"row 1",\n'
        for refused, error in (
            ("COPY t TO STDOUT (FORCE_QUOTE *)", psycopg.errors.FeatureNotSupported),
            ("COPY t FROM STDIN (FORMAT csv, FORCE_QUOTE *)", psycopg.errors.FeatureNotSupported),
            ("COPY t TO STDOUT CSV FORCE QUOTE nosuch", psycopg.errors.UndefinedColumn),
        ):
            with pytest.raises(error):
                cursor.execute(refused)


def test_psycopg_transactions(connection: psycopg.Connection[Any]) -> None:
    with pytest.raises(psycopg.errors.NotNullViolation), connection.transaction():
        connection.execute("INSERT INTO t VALUES (1, 'a', 1)")
        connection.execute("INSERT INTO t VALUES (2, NULL, 1)")
    assert connection.execute("SELECT count(*) FROM t").fetchone() == (0,)
    with connection.transaction():
        connection.execute("INSERT INTO t VALUES (1, 'a', 1)")
    assert connection.execute("SELECT count(*) FROM t").fetchone() == (1,)


def test_psycopg_pipeline(connection: psycopg.Connection[Any]) -> None:
    with connection.pipeline():
        for i in range(10):
            connection.execute("INSERT INTO t VALUES (%s, 'p', 0)", [i])
        counted = connection.execute("SELECT count(*) FROM t")
    assert counted.fetchone() == (10,)


def test_a_pipeline_is_one_transaction(connection: psycopg.Connection[Any]) -> None:
    with pytest.raises(psycopg.errors.NotNullViolation), connection.pipeline():
        connection.execute("INSERT INTO t VALUES (1, 'a', 0)")
        connection.execute("INSERT INTO t VALUES (2, NULL, 0)")
        connection.execute("INSERT INTO t VALUES (3, 'c', 0)")
    assert connection.execute("SELECT count(*) FROM t").fetchone() == (0,)
    with connection.pipeline() as pipeline:
        connection.execute("INSERT INTO t VALUES (1, 'a', 0)")
        pipeline.sync()
        connection.execute("INSERT INTO t VALUES (2, 'b', 0)")
        with pytest.raises(psycopg.errors.UndefinedTable):
            connection.execute("SELECT * FROM nosuch").fetchall()
    assert connection.execute("SELECT id FROM t").fetchall() == [(1,)]
    with connection.pipeline():
        connection.execute("CREATE TABLE made (a int)")
        connection.execute("INSERT INTO made VALUES (1)")
        connection.execute("FLUSH")
        assert connection.execute("SELECT a FROM made").fetchone() == (1,)


def test_psycopg_looks_types_up(connection: psycopg.Connection[Any]) -> None:
    info = TypeInfo.fetch(connection, "numeric")
    assert info is not None
    assert (info.oid, info.array_oid) == (1700, 1231)
    assert TypeInfo.fetch(connection, "hstore") is None


def test_errors_have_sqlstates(connection: psycopg.Connection[Any]) -> None:
    for sql, error in (
        ("SELECT 1 / (id - id) FROM t", psycopg.errors.DivisionByZero),
        ("SELECT * FROM nosuch", psycopg.errors.UndefinedTable),
        ("SELECT nosuch FROM t", psycopg.errors.UndefinedColumn),
        ("SELECT nosuch(1)", psycopg.errors.UndefinedFunction),
        ("SELEC 1", psycopg.errors.SyntaxError),
        ("INSERT INTO t VALUES ('x', 'a', 1)", psycopg.errors.InvalidTextRepresentation),
    ):
        connection.execute("INSERT INTO t VALUES (1, 'a', 1)")
        with pytest.raises(error):
            connection.execute(sql)


def test_asyncpg(server: WireServer, connection: psycopg.Connection[Any]) -> None:
    async def use() -> None:
        client = await asyncpg.connect(host="127.0.0.1", port=server.port, user="root", database="dev")
        await client.execute("INSERT INTO t VALUES ($1, $2, $3)", 1, "one", Decimal("1.5"))
        assert [tuple(row) for row in await client.fetch("SELECT * FROM t WHERE id = $1", 1)] == [
            (1, "one", Decimal("1.50"))
        ]
        # An array makes asyncpg ask pg_type with a recursive query and an oid[] parameter.
        assert await client.fetchval("SELECT conkey FROM pg_constraint") == [1]
        await client.copy_records_to_table("t", records=[(2, "two", None)], columns=["id", "name", "price"])
        async with client.transaction():
            names = [row["name"] async for row in client.cursor("SELECT name FROM t ORDER BY id")]
        assert names == ["one", "two"]
        await client.reset()
        await client.close()

    asyncio.run(use())


def test_pg8000(server: WireServer, connection: psycopg.Connection[Any]) -> None:
    client = pg8000.dbapi.connect(user="root", host="127.0.0.1", port=server.port, database="dev")
    cursor = client.cursor()
    cursor.execute("INSERT INTO t VALUES (%s, %s, %s)", (1, "one", Decimal("1.5")))
    client.commit()
    cursor.execute("SELECT id, name, price FROM t WHERE name = %s", ("one",))
    assert [tuple(row) for row in cursor.fetchall()] == [(1, "one", Decimal("1.50"))]
    client.close()


def test_nested_values_as_parameters(server: WireServer, connection: psycopg.Connection[Any]) -> None:
    """psycopg declares arrays by their OID, in text or binary form; asyncpg asks which type a parameter has."""
    connection.execute("CREATE TABLE n (id int PRIMARY KEY, a int[], j jsonb, u uuid, s varchar[])")
    key = uuid4()
    for number, marks in ((1, "%s, %s, %s, %s, %s"), (2, "%b, %b, %b, %b, %b")):
        values = (number, [number, 2000, 300_000], Jsonb({"k": [1]}), key, ["a", 'b,"c', None])
        connection.execute(f"INSERT INTO n VALUES ({marks})", values)
        for binary in (False, True):
            row = connection.cursor(binary=binary).execute("SELECT * FROM n WHERE id = %s", [number]).fetchone()
            assert row == (number, [number, 2000, 300_000], {"k": [1]}, key, ["a", 'b,"c', None])
    assert sorted(connection.execute("SELECT id FROM n WHERE id = ANY(%s)", [[1, 2, 3]])) == [(1,), (2,)]
    with connection.cursor() as cursor, cursor.copy("COPY n FROM STDIN") as copy:
        copy.write_row((3, [7], Jsonb({"x": None}), key, None))
    with connection.cursor() as cursor, cursor.copy("COPY n (id, a, u) FROM STDIN (FORMAT binary)") as copy:
        copy.set_types(["int4", "int4[]", "uuid"])
        copy.write_row((4, [8, 9], key))
    assert connection.execute("SELECT a, j FROM n WHERE id >= 3 ORDER BY id").fetchall() == [
        ([7], {"x": None}),
        ([8, 9], None),
    ]

    async def session() -> None:
        opened = await asyncpg.connect(host="127.0.0.1", port=server.port, user="root", database="dev")
        await opened.execute("INSERT INTO n (id, a, u) VALUES ($1, $2, $3)", 5, [5, None], key)
        assert [tuple(row) for row in await opened.fetch("SELECT a, u FROM n WHERE id = $1", 5)] == [([5, None], key)]
        await opened.close()

    asyncio.run(session())
