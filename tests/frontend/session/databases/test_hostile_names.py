"""Names and texts that look like SQL: each means itself, in whatever place of a statement, and nothing else runs.

Ten thousand statements take minutes: `RISINGPY_HOSTILE_STATEMENTS=10000` asks for them.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from typing import Any

from risingpy.meta.database import Database
from risingpy.sql_quoting import double_quoted, quoted_text
from tests.frontend.session.conftest import Client
from tests.frontend.session.databases.test_databases import in_database

WANTED = int(os.environ.get("RISINGPY_HOSTILE_STATEMENTS", "400"))
PIECES = (
    *(
        "'",
        '"',
        "''",
        '""',
        "`",
        ";",
        "--",
        "/*",
        "*/",
        "\\",
        "\\'",
        "$$",
        "$1",
        "\n",
        "\t",
        "%s",
        "%",
        "{0}",
        "{}",
        "::",
    ),
    *(
        "E'",
        'U&"',
        "X'00'",
        "’",
        "\u2028",
        "\u0627",
        "\U0001f600",
        "\x01",
        "\x7f",
        " ",
        ".",
        ",",
        "(",
        ")",
        "NULL",
        "c0",
    ),
    *(
        "'; DROP TABLE canary; --",
        '"; DROP TABLE canary; --',
        "') OR 1=1 --",
        "'||(SELECT 1)||'",
        "*/ DELETE FROM canary /*",
    ),
    *("read_text('/etc/passwd')", "$$; DELETE FROM canary; $$", "\\'; DELETE FROM canary; --", "select", "a", "Ü", "ı"),
)
Expected = list[tuple[object, ...]] | None


def texts(rng: random.Random) -> str:
    made = "".join(rng.choice(PIECES) for _ in range(rng.randint(1, 4)))
    return made.encode()[:60].decode(errors="ignore") or "x"


def queries(name: str, other: str, text: str) -> Iterator[tuple[str, Expected]]:
    """Statements that change nothing, and their rows."""
    n, o, t = double_quoted(name), double_quoted(other), quoted_text(text)
    if name == other:
        o = double_quoted(other + "_")
    yield f"SELECT {t} AS {n}", [(text,)]
    yield f"SELECT {n} || '' AS {o} FROM (VALUES ({t})) AS {n}({n})", [(text,)]
    yield f"WITH {n}({o}) AS (SELECT {t}) SELECT {n}.{o} FROM {n} GROUP BY {o} ORDER BY {o}", [(text,)]
    step = f"SELECT {o} + 1 FROM {n} WHERE {o} < 3"
    yield f"WITH RECURSIVE {n}({o}) AS (SELECT 1 UNION ALL {step}) SELECT max({o}) FROM {n}", [(3,)]
    yield f"SELECT jsonb_build_object({t}, 1)->{t} = '1', ARRAY[{t}]::text[] = ARRAY[{t}]", [(True, True)]
    yield f"SELECT (ROW({t}, {t})).f1, concat({t}, {t}) = {t} || {t}, length({t})", [(text, True, len(text))]
    yield (
        f"SELECT count(*) FROM canary WHERE v = {t} OR v IN ({t}, {t}) OR strpos(v, {t}) > 100",
        [(int(text in ("a", "b")),)],
    )
    yield f"SELECT string_agg(v, {t} ORDER BY v) FROM canary", [(f"a{text}b",)]
    yield (
        f"SELECT quote_literal({t}) IS NOT NULL, quote_ident({t}) IS NOT NULL, to_regclass(quote_ident({t})) IS NULL",
        None,
    )
    yield f"SELECT count(*) OVER {n} FROM canary WINDOW {n} AS (PARTITION BY {t}) LIMIT 1", [(2,)]
    yield f"PREPARE {n} AS SELECT {t}", None
    yield f"EXECUTE {n}", [(text,)]
    yield f"DEALLOCATE {n}", None
    yield f"BEGIN; DECLARE {n} CURSOR FOR SELECT {t}; SAVEPOINT {n}; RELEASE {n}; FETCH {n}", [(text,)]
    yield "ROLLBACK", None
    yield f"SET application_name TO {t}", None
    yield f"EXPLAIN SELECT {t} AS {n} FROM canary AS {o}", None
    yield f"SELECT count(*) FROM pg_class WHERE relname = {t} AND relnamespace <> 0", None


def changes(name: str, other: str, text: str) -> Iterator[tuple[str, Expected]]:
    """Statements that make, read and drop objects of these names."""
    n, o, t = (double_quoted(name + "1"), double_quoted(other + "2"), quoted_text(text))
    yield f"CREATE SCHEMA {n}", None
    yield f"CREATE TABLE {n}.{n} ({o} text PRIMARY KEY DEFAULT {t}, {n} int)", None
    yield f"INSERT INTO {n}.{n} ({n}) VALUES (1) RETURNING {o}", [(text,)]
    yield f"INSERT INTO {n}.{n} VALUES ({t}, 2) ON CONFLICT ({o}) DO UPDATE SET {n} = excluded.{n} + 1", None
    yield f"CREATE INDEX {o} ON {n}.{n} ({n}) INCLUDE ({o})", None
    query = f"SELECT {o}, {t} AS {n} FROM {n}.{n} AS x WHERE {o} = {t}"
    yield f"CREATE MATERIALIZED VIEW {n}.{double_quoted(name + 'm')} AS {query}", None
    yield f"CREATE VIEW {n}.{double_quoted(name + 'v')} AS SELECT {n}.{n}.{o} FROM {n}.{n}", None
    yield f"SELECT {n} FROM {n}.{double_quoted(name + 'm')}", [(text,)]
    yield f"ALTER TABLE {n}.{n} ADD COLUMN {double_quoted(other + '3')} text DEFAULT {t}", None
    yield f"ALTER TABLE {n}.{n} RENAME COLUMN {n} TO {double_quoted(other + '4')}", None
    yield f"ALTER TABLE {n}.{n} RENAME TO {double_quoted(other + '5')}", None
    yield f"ALTER SCHEMA {n} RENAME TO {double_quoted(name + 's')}", None
    s = double_quoted(name + "s")
    yield f"SELECT * FROM {s}.{double_quoted(name + 'v')}", [(text,)]
    yield f"SHOW CREATE TABLE {s}.{double_quoted(other + '5')}", None
    yield f"UPDATE {s}.{double_quoted(other + '5')} SET {double_quoted(other + '4')} = 7 WHERE {o} = {t}", None
    yield f"CREATE FUNCTION {s}.{n}({o} text) RETURNS text LANGUAGE sql AS {quoted_text(f'SELECT $1 || {t}')}", None
    yield f"SELECT {s}.{n}('a')", [("a" + text,)]
    yield f"CREATE ROLE {n}", None
    yield f"ALTER ROLE {n} SET my.own = {t}", None
    yield f"GRANT SELECT ON {s}.{double_quoted(other + '5')} TO {n}", None
    yield f"SELECT rolconfig FROM pg_roles WHERE rolname = {quoted_text(name + '1')}", [([f"my.own={text}"],)]
    yield f"DROP SCHEMA {s} CASCADE", None
    yield f"DROP ROLE {n}", None
    yield f"CREATE DATABASE {n}", None
    yield f"ALTER DATABASE {n} RENAME TO {o}", None
    yield f"DROP DATABASE {o}", None


def run(client: Any, statements: Iterator[tuple[str, Expected]], said: list[str]) -> int:
    """Each statement of a line by itself, as clients send them; the rows are those of the last."""
    done = 0
    for sql, wanted in statements:
        said.append(sql)
        rows = client.run(sql)
        assert wanted is None or rows == wanted, sql
        done += 1
    return done


def test_nothing_runs_that_was_not_written(client: Client, database: Database) -> None:
    client.run("CREATE TABLE canary (v text PRIMARY KEY)")
    client.run("INSERT INTO canary VALUES ('a'), ('b')")
    client.run("FLUSH")
    rng, done, last = random.Random(29), 0, list[str]()
    before = set(database.reads.catalog.relations)
    other = in_database(database, "dev")
    while done < WANTED:
        name, second, text = texts(rng), texts(rng), texts(rng)
        done += run(client, queries(name, second, text), last)
        if done % 4 == 0 or WANTED > 1000:
            done += run(client, changes(name, second, text), last)
        assert sorted(other.run("SELECT v FROM canary")) == [("a",), ("b",)], last[-40:]
        assert set(database.reads.catalog.relations) == before, last[-40:]
        assert len(database.reads.catalog.databases) == 1 and database.reads.catalog.schemas == ("public",)
        del last[:-60]
