"""Names and values of another PostgreSQL that look like SQL: sinks write to them and sources copy them, as they are.

`make injection-test` has 10,000 of each direction; `make test` a part.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg import sql

from risingpy.connectors.postgres_cdc.table_names import parts_of, whole_name
from risingpy.connectors.targets.postgres import PostgresTarget
from risingpy.connectors.targets.target import SinkSchema, SinkType
from risingpy.sql_quoting import double_quoted, quoted_text
from risingpy.types import BIGINT, VARCHAR
from tests.connectors.postgres_cdc.upstream import Upstream
from tests.connectors.targets.changes import changes_of
from tests.frontend.session.databases.test_hostile_names import texts
from tests.meta.conftest import Server

WANTED = int(os.environ.get("RISINGPY_HOSTILE_STATEMENTS", "400"))
COLUMNS, ROWS, TABLES = 8, 40, 4
Connection = psycopg.Connection[tuple[Any, ...]]


def different(rng: random.Random, count: int) -> list[str]:
    found: dict[str, None] = {}
    while len(found) < count:
        found[texts(rng)] = None
    return list(found)


def identifiers(*names: str) -> sql.Composed:
    return sql.SQL(", ").join(map(sql.Identifier, names))


@pytest.fixture
def canary(upstream: Upstream) -> Iterator[Connection]:
    """A table of the other side that nobody names."""
    with upstream.connect() as connection:
        connection.execute("CREATE TABLE canary (v text PRIMARY KEY)")
        connection.execute("INSERT INTO canary VALUES ('a'), ('b')")
        yield connection
        assert connection.execute("SELECT v FROM canary ORDER BY v").fetchall() == [("a",), ("b",)]


def sink_options(upstream: Upstream, rng: random.Random, schema: str, table: str) -> dict[str, str]:
    server = {"host": str(upstream.server.directory), "port": str(upstream.server.port), "user": "postgres"}
    return {"connector": "postgres", **server, "database": upstream.name, "schema": schema, "table": table}


def test_sinks(upstream: Upstream, canary: Connection) -> None:
    rng, done = random.Random(29), 0
    while done < WANTED:
        schema, table, name = texts(rng), texts(rng), texts(rng)
        key, *columns = different(rng, COLUMNS)
        canary.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(schema)))
        made = sql.SQL(", ").join(sql.SQL("{} text").format(sql.Identifier(each)) for each in columns)
        place = sql.Identifier(schema, table)
        canary.execute(sql.SQL("CREATE TABLE {} ({} bigint PRIMARY KEY, {})").format(place, sql.Identifier(key), made))
        fields = ((key, BIGINT), *((each, VARCHAR) for each in columns))
        shape = SinkSchema(name, fields, (0,), SinkType.UPSERT)
        target = PostgresTarget(sink_options(upstream, rng, schema, table), shape)
        target.check()
        assert target.open() is None
        first, second = different(rng, len(columns)), different(rng, len(columns))
        target.deliver(5, [changes_of(shape, [(1, ["1", *first]), (1, ["2", *first])])])
        target.deliver(6, [changes_of(shape, [(-1, ["1", *first]), (-1, ["2", *first]), (1, ["2", *second])])])
        target.deliver(6, [changes_of(shape, [(1, ["3", *first])])])
        select = sql.SQL("SELECT {} FROM {}").format(identifiers(key, *columns), place)
        assert canary.execute(select).fetchall() == [(2, *second)], (schema, table, name)
        epochs = sql.SQL("SELECT * FROM {}").format(sql.Identifier(schema, "risingpy_sink_epochs"))
        assert canary.execute(epochs).fetchall() == [(name, 6)]
        target.close()
        canary.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(sql.Identifier(schema)))
        done += 3 + 2 * COLUMNS + len(first) + len(second)


def test_a_url_of_java(upstream: Upstream, canary: Connection) -> None:
    """The database's name and the arguments may have any sign as %40."""
    name = "a'; DROP TABLE canary; --\" ?&%"
    canary.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    with psycopg.connect(
        host=str(upstream.server.directory), port=upstream.server.port, user="postgres", dbname=name, autocommit=True
    ) as there:
        there.execute("CREATE TABLE t (id bigint PRIMARY KEY)")
    shape = SinkSchema("s", (("id", BIGINT),), (0,), SinkType.UPSERT)
    encoded = "".join(f"%{byte:02X}" for byte in name.encode())
    url = f"jdbc:postgresql://127.0.0.1:{upstream.server.port}/{encoded}?user=%70ostgres"
    options = {"connector": "jdbc", "jdbc.url": url, "table.name": "t"}
    conninfo = psycopg.conninfo.conninfo_to_dict(PostgresTarget(options, shape)._conninfo)
    assert (conninfo["dbname"], conninfo["user"]) == (name, "postgres")
    canary.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


def copied(rng: random.Random, there: Connection, schema: str, table: str) -> tuple[str, list[str]]:
    """Makes a table upstream with rows: (the key's name, the other columns')."""
    key, *columns = different(rng, COLUMNS)
    there.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(sql.Identifier(schema)))
    made = sql.SQL(", ").join(sql.SQL("{} text").format(sql.Identifier(each)) for each in columns)
    place = sql.Identifier(schema, table)
    there.execute(sql.SQL("CREATE TABLE {} ({} text PRIMARY KEY, {})").format(place, sql.Identifier(key), made))
    for value in different(rng, ROWS):
        written(rng, there, place, value, key, columns)
    return key, columns


def written(
    rng: random.Random, there: Connection, place: sql.Identifier, value: str, key: str, columns: list[str]
) -> None:
    values = sql.SQL(", ").join(map(sql.Literal, (value, *(texts(rng) for _ in columns))))
    insert = sql.SQL("INSERT INTO {} ({}) VALUES ({}) ON CONFLICT DO NOTHING")
    there.execute(insert.format(place, identifiers(key, *columns), values))


def changed(rng: random.Random, there: Connection, place: sql.Identifier, key: str, columns: list[str]) -> None:
    keys = [each for (each,) in there.execute(sql.SQL("SELECT {} FROM {}").format(sql.Identifier(key), place))]
    for each in keys[:5]:
        update = sql.SQL("UPDATE {} SET {} = {} WHERE {} = {}")
        column, value = sql.Identifier(columns[0]), sql.Literal(texts(rng))
        there.execute(update.format(place, column, value, sql.Identifier(key), sql.Literal(each)))
    for each in keys[5:10]:
        there.execute(sql.SQL("DELETE FROM {} WHERE {} = {}").format(place, sql.Identifier(key), sql.Literal(each)))
    for _ in range(5):
        written(rng, there, place, texts(rng), key, columns)


def test_sources(server: Server, upstream: Upstream, canary: Connection) -> None:
    rng, done, number, client = random.Random(31), 0, 0, server.client()
    while done < WANTED:
        publication = texts(rng)
        source = upstream.source("src", publication__name=publication.replace("'", "''"))
        client.run(source)
        kept = []
        for _ in range(TABLES):
            schema, table = texts(rng) + "_", texts(rng)
            key, columns = copied(rng, canary, schema, table)
            number += 1
            whole = quoted_text(whole_name(schema, table))
            client.run(f"CREATE TABLE copy{number} (*) FROM src TABLE {whole}")
            kept.append((number, sql.Identifier(schema, table), key, columns))
            done += 2 + COLUMNS + ROWS * COLUMNS
        for _, place, key, columns in kept:
            changed(rng, canary, place, key, columns)
        for copy, place, key, columns in kept:
            names = identifiers(key, *columns)
            wanted = sorted(canary.execute(sql.SQL("SELECT {} FROM {}").format(names, place)).fetchall())
            shown = ", ".join(map(double_quoted, (key, *columns)))
            assert sorted(client.run(f"FLUSH; SELECT {shown} FROM copy{copy}")) == wanted, (place, key, columns)
            client.run(f"DROP TABLE copy{copy}")
        client.run("DROP SOURCE src")
        canary.execute(sql.SQL("DROP PUBLICATION {}").format(sql.Identifier(publication)))
        for _, place, _, _ in kept:
            canary.execute(sql.SQL("DROP TABLE {}").format(place))


def test_whole_names_are_of_one_table_each() -> None:
    rng = random.Random(37)
    for _ in range(2000):
        place = texts(rng), texts(rng)
        assert parts_of(whole_name(*place), "public") == place
    assert parts_of("t", "public") == ("public", "t")
    assert parts_of("a.b.t", "public") == ("a.b", "t")
    assert parts_of('s."a.b"', "public") == ("s", "a.b")
    assert parts_of('"a.b"', "public") == ("public", "a.b")
