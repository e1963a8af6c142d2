"""Views are printed as PostgreSQL 15 prints them, and each text makes the same view again, here and there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from risingpy.frontend.results import StartupParameters
from risingpy.frontend.session import open_session
from risingpy.meta.database import Database
from risingpy.meta.epochs.in_process_runner import InProcessRunner
from tests.frontend.session.conftest import Client
from tests.postgres_oracle import PostgresOracle

SCHEMA = (
    "CREATE SCHEMA s1",
    "CREATE TABLE kv (k int PRIMARY KEY, v text, n numeric(10,2))",
    "CREATE TABLE fk (id int PRIMARY KEY, b int)",
    "CREATE TABLE pdt (a int, d date)",
    "CREATE TABLE types (b boolean, c boolean, ts timestamp, vc varchar(20), i2 smallint, i8 bigint, f4 real,"
    " f8 double precision, j jsonb)",
    'CREATE TABLE odd (k int, "order" int, "Mixed" int)',
    'CREATE TABLE "select" ("order" int)',
    "CREATE TABLE s1.tt (a int)",
    "CREATE TABLE public.tt (a int)",
    "CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy')",
    "CREATE TABLE moods (m mood)",
    "CREATE VIEW vw AS SELECT k, v FROM kv WHERE k > 1",
)
TEXTS = "SELECT pg_get_viewdef('{}'::regclass), pg_get_viewdef('{}'::regclass, true)"


def _queries() -> Iterator[tuple[str, bool]]:
    """Each with whether it is printed as PostgreSQL prints it."""
    lines = Path(__file__).with_name("queries.sql").read_text().splitlines()
    for line in lines:
        if line and not line.startswith("--"):
            yield line.removeprefix("! ").rstrip(";"), not line.startswith("! ")


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    database = Database(tmp_path_factory.mktemp("deparse") / "data", parallelism=2)
    database.start(InProcessRunner(database.data_dir))
    client = Client(open_session(database, StartupParameters("root", "dev", {}, process_id=7)))
    for statement in SCHEMA:
        client.run(statement)
    yield client
    client.session.close()
    database.close()


@pytest.fixture(scope="module")
def postgres(postgres_oracle: PostgresOracle) -> Iterator[psycopg.Connection[Any]]:
    with postgres_oracle.connect() as connection:
        # Made before, if a process gets the tests of this module in two parts.
        connection.execute("DROP DATABASE IF EXISTS deparsed")
        connection.execute("CREATE DATABASE deparsed")
    where = f"host={postgres_oracle.directory} port={postgres_oracle.port} user=postgres dbname=deparsed"
    with psycopg.connect(where, autocommit=True) as connection:
        for statement in SCHEMA:
            connection.execute(statement.encode())
        yield connection


@pytest.mark.parametrize(("query", "is_equal"), list(_queries()))
def test_view(client: Client, postgres: psycopg.Connection[Any], query: str, is_equal: bool) -> None:
    try:
        ours = _texts(client, query)
        if is_equal:
            assert ours == _theirs(postgres, query)
        for text in ours:  # it means the same to both: a view of it is printed alike
            _drop(client, postgres)
            assert text in _texts(client, text)
            _theirs(postgres, text)
    finally:
        _drop(client, postgres)


def test_names_follow_the_search_path_and_renames(client: Client) -> None:
    client.run("CREATE TABLE r1 (a int, b text)")
    client.run("CREATE VIEW rv AS SELECT a, b FROM r1 WHERE b = 'x'")
    client.run("CREATE VIEW rw AS SELECT rv.a FROM rv JOIN r1 AS q ON q.a = rv.a")
    client.run("ALTER TABLE r1 RENAME TO r2")
    client.run("ALTER VIEW rv RENAME TO rx")
    [(plain, _)] = client.run(TEXTS.replace("{}", "rx"))
    assert plain == " SELECT r1.a,\n    r1.b\n   FROM r2 r1\n  WHERE (r1.b = 'x'::text);"
    client.run("SET search_path = s1")
    try:
        [(plain, pretty)] = client.run(TEXTS.replace("{}", "public.rw"))
    finally:
        client.run("RESET search_path")
    assert plain == " SELECT rv.a\n   FROM (public.rx rv\n     JOIN public.r2 q ON ((q.a = rv.a)));"
    assert pretty == " SELECT rv.a\n   FROM public.rx rv\n     JOIN public.r2 q ON q.a = rv.a;"
    client.run("DROP TABLE r2 CASCADE")


def _texts(client: Client, query: str) -> tuple[str, str]:
    client.run(f"CREATE VIEW made AS {query}")
    [row] = client.run(TEXTS.replace("{}", "made"))
    return str(row[0]), str(row[1])


def _theirs(postgres: psycopg.Connection[Any], query: str) -> tuple[str, str]:
    postgres.execute(f"CREATE VIEW made AS {query}".encode())
    row = postgres.execute(TEXTS.replace("{}", "made").encode()).fetchone()
    assert row is not None
    return row[0], row[1]


def _drop(client: Client, postgres: psycopg.Connection[Any]) -> None:
    client.run("DROP VIEW IF EXISTS made")
    postgres.execute("DROP VIEW IF EXISTS made")
