"""Names of objects as parameters: psycopg, asyncpg and SQLAlchemy bind them as texts, and cast these to regclass."""

from __future__ import annotations

import asyncio
from typing import Any

import asyncpg
import psycopg
import pytest

from risingpy.frontend.wire import WireServer


@pytest.fixture
def dsn(server: WireServer) -> str:
    found = f"host=127.0.0.1 port={server.port} user=root dbname=dev"
    with psycopg.connect(found, autocommit=True) as opened:
        opened.execute('CREATE TABLE "My table" (id int PRIMARY KEY)')
        opened.execute("CREATE SCHEMA other")
        opened.execute("CREATE TABLE other.t (id int PRIMARY KEY)")
    return found


@pytest.mark.parametrize(
    ("kind", "name", "shown"),
    [
        ("regclass", '"My table"', '"My table"'),
        ("regclass", "pg_catalog.pg_class", "pg_class"),
        ("regclass", "1259", "pg_class"),
        ("regclass", "-", "-"),
        ("regtype", "int4", "integer"),
        ("regtype", "timestamp with time zone", "timestamp with time zone"),
        ("regproc", "array_lower", "array_lower"),
        ("regprocedure", "array_lower(anyarray, integer)", "array_lower(anyarray,integer)"),
        ("regnamespace", "other", "other"),
        ("regrole", "root", "root"),
    ],
)
def test_a_bound_name_is_looked_up(dsn: str, kind: str, name: str, shown: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        assert connection.execute(f"SELECT %s::{kind}::text", [name]).fetchall() == [(shown,)]
        literal = connection.execute(f"SELECT '{name}'::{kind}::text").fetchall()
        assert literal == [(shown,)]


def test_a_bound_array_of_names_is_looked_up(dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        query = "SELECT relname FROM pg_class WHERE oid = ANY({}::regclass[]) ORDER BY relname"
        names = '{pg_class,"\\"My table\\"",NULL}'
        expected = [("My table",), ("pg_class",)]
        assert connection.execute(query.format("%s"), [names]).fetchall() == expected
        assert connection.execute(query.format(f"'{names}'")).fetchall() == expected


def test_it_is_looked_up_in_the_search_path_of_the_moment(dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        query = "SELECT c.relname FROM pg_class c WHERE c.oid = %s::regclass"
        with pytest.raises(psycopg.errors.UndefinedTable, match='relation "t" does not exist'):
            connection.execute(query, ["t"], prepare=True)
        connection.execute("SET search_path TO other")
        assert connection.execute(query, ["t"], prepare=True).fetchall() == [("t",)]


@pytest.mark.parametrize(
    ("kind", "name", "sqlstate"),
    [
        ("regclass", "nosuch", "42P01"),
        ("regclass", "nosuch.t", "3F000"),
        ("regclass", "a b", "42602"),
        ("regtype", "nosuch", "42704"),
        ("regproc", "nosuch", "42883"),
        ("regnamespace", "nosuch", "3F000"),
        ("regrole", "nosuch", "42704"),
        ("oid", "pg_class", "22P02"),
        ("regclass[]", "{nosuch}", "42P01"),
        ("regclass[]", "nosuch", "22P02"),
    ],
)
def test_a_name_of_nothing_is_an_error_and_the_session_goes_on(dsn: str, kind: str, name: str, sqlstate: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        with pytest.raises(psycopg.Error) as raised:
            connection.execute(f"SELECT %s::{kind}", [name])
        assert raised.value.sqlstate == sqlstate
        assert connection.execute("SELECT 1").fetchall() == [(1,)]


def test_asyncpg_binds_names_and_numbers(dsn: str) -> None:
    async def ask() -> Any:
        port = dsn.split("port=")[1].split()[0]
        connection = await asyncpg.connect(host="127.0.0.1", port=int(port), user="root", database="dev")
        try:
            by_name = await connection.fetchval("SELECT relname FROM pg_class WHERE oid = $1::regclass", "pg_type")
            by_oid = await connection.fetchval("SELECT relname FROM pg_class WHERE oid = $1::oid", 1247)
            return by_name, by_oid
        finally:
            await connection.close()

    assert asyncio.run(ask()) == ("pg_type", "pg_type")
