"""Defaults, generated columns, checks and keys of indexes are printed as PostgreSQL 15 prints them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from risingpy.frontend.results import StartupParameters
from risingpy.frontend.session import open_session
from risingpy.meta.database import Database
from risingpy.meta.epochs.in_process_runner import InProcessRunner
from tests.frontend.session.conftest import Client
from tests.postgres_oracle import PostgresOracle

TABLES = (
    "CREATE TYPE mood AS ENUM ('sad', 'ok')",
    "CREATE TABLE defaults (i int DEFAULT 5, b bigint DEFAULT 7, n numeric(10,2) DEFAULT 1.5, t text DEFAULT 'x',"
    " v varchar(10) DEFAULT 'y', c char(3) DEFAULT 'abc', neg int DEFAULT -1, sum int DEFAULT 1 + 2 * 3,"
    " d date DEFAULT '2024-01-01', ts timestamp DEFAULT now(), tz timestamptz DEFAULT CURRENT_TIMESTAMP,"
    " cd date DEFAULT current_date, bo boolean DEFAULT true, nothing int DEFAULT NULL, iv interval DEFAULT '1 day',"
    " f double precision DEFAULT 1.5, j jsonb DEFAULT '{}', a int[] DEFAULT '{1,2}', ar int[] DEFAULT ARRAY[1, 2],"
    " em text[] DEFAULT ARRAY[]::text[], m mood DEFAULT 'ok', u text DEFAULT upper('x' || 'y'), id serial,"
    " k text DEFAULT coalesce(NULL, 'z'), ca int DEFAULT '5'::int, x smallint DEFAULT 3)",
    "CREATE TABLE made (a int, b text, n numeric, twice int GENERATED ALWAYS AS (a * 2) STORED,"
    " up text GENERATED ALWAYS AS (upper(b)) STORED, big bigint GENERATED ALWAYS AS (a + 1) STORED,"
    " w text GENERATED ALWAYS AS (CASE WHEN a > 1 THEN 'x' ELSE b END) STORED,"
    " cat text GENERATED ALWAYS AS (b || 'x') STORED)",
    "CREATE TABLE checked (a int CHECK (a > 0), b text, v varchar(9), n numeric, d date, m mood, e boolean,"
    " CONSTRAINT two CHECK (a > 1 AND a < 9 OR b IS NULL), CONSTRAINT inlist CHECK (b IN ('x', 'y')),"
    " CONSTRAINT liked CHECK (v LIKE 'a%' AND length(v) > 1), CONSTRAINT between_ CHECK (n BETWEEN 1 AND 2.5),"
    " CONSTRAINT cased CHECK (CASE WHEN a = 1 THEN true ELSE n > 2 END), CONSTRAINT boo CHECK (e),"
    " CONSTRAINT is_there CHECK (b IS NOT NULL), CONSTRAINT dated CHECK (d > '2024-01-01'),"
    " CONSTRAINT moody CHECK (m <> 'sad'), CONSTRAINT fn CHECK (coalesce(a, 0) + abs(a) >= 0),"
    " CONSTRAINT rows_ CHECK ((a, n) <> (1, 2)), CONSTRAINT nots CHECK (NOT (a = 3 OR a = 4)))",
    "CREATE TABLE indexed (a int, b text, v varchar(9), j jsonb, d date, n numeric)",
    "CREATE INDEX lowered ON indexed (lower(b))",
    "CREATE INDEX lowered_v ON indexed (lower(v) DESC, a)",
    "CREATE INDEX summed ON indexed ((a + 1), b DESC NULLS LAST)",
    "CREATE INDEX field_of ON indexed ((j ->> 'x'))",
    "CREATE INDEX cast_of ON indexed ((a::text))",
    "CREATE INDEX coalesced ON indexed (coalesce(b, 'x'), (n * 2) NULLS FIRST)",
    "CREATE UNIQUE INDEX once ON indexed (upper(b), a)",
    "CREATE INDEX cased ON indexed ((CASE WHEN a > 1 THEN 1 ELSE 2 END))",
)
QUESTIONS = (
    "SELECT attname, pg_get_expr(adbin, adrelid) FROM pg_attrdef"
    " JOIN pg_attribute ON attrelid = adrelid AND attnum = adnum WHERE adrelid = 'defaults'::regclass ORDER BY adnum",
    "SELECT column_name, column_default FROM information_schema.columns WHERE table_name = 'defaults' ORDER BY 1",
    "SELECT column_name, column_default, is_generated, generation_expression FROM information_schema.columns"
    " WHERE table_name = 'made' ORDER BY 1",
    "SELECT attname, atthasdef FROM pg_attribute WHERE attrelid = 'defaults'::regclass AND attnum > 0 ORDER BY attnum",
    "SELECT attname, pg_get_expr(adbin, adrelid) FROM pg_attrdef"
    " JOIN pg_attribute ON attrelid = adrelid AND attnum = adnum WHERE adrelid = 'made'::regclass ORDER BY adnum",
    "SELECT conname, pg_get_constraintdef(oid), pg_get_constraintdef(oid, true) FROM pg_constraint"
    " WHERE conrelid = 'checked'::regclass ORDER BY 1",
    "SELECT conname, pg_get_expr(conbin, conrelid) FROM pg_constraint WHERE conrelid = 'checked'::regclass ORDER BY 1",
    "SELECT indexname, indexdef FROM pg_indexes WHERE tablename = 'indexed' ORDER BY 1",
    "SELECT indexrelid::regclass::text, pg_get_indexdef(indexrelid, 1, false)"
    " FROM pg_index WHERE indrelid = 'indexed'::regclass ORDER BY 1",
    "SELECT indexrelid::regclass::text, indclass::text, indcollation::text, indoption::text FROM pg_index"
    " WHERE indrelid = 'indexed'::regclass ORDER BY 1",
)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    database = Database(tmp_path_factory.mktemp("tables") / "data", parallelism=1)
    database.start(InProcessRunner(database.data_dir))
    client = Client(open_session(database, StartupParameters("root", "dev", {}, process_id=7)))
    for statement in TABLES:
        client.run(statement)
    yield client
    client.session.close()
    database.close()


@pytest.fixture(scope="module")
def postgres(postgres_oracle: PostgresOracle) -> Iterator[psycopg.Connection[Any]]:
    with postgres_oracle.connect() as connection:
        # Made before, if a process gets the tests of this module in two parts.
        connection.execute("DROP DATABASE IF EXISTS printed_tables")
        connection.execute("CREATE DATABASE printed_tables")
    where = f"host={postgres_oracle.directory} port={postgres_oracle.port} user=postgres dbname=printed_tables"
    with psycopg.connect(where, autocommit=True) as connection:
        for statement in TABLES:
            connection.execute(statement.encode())
        yield connection


@pytest.mark.parametrize("question", QUESTIONS)
def test_is_printed_alike(client: Client, postgres: psycopg.Connection[Any], question: str) -> None:
    theirs = [tuple(row) for row in postgres.execute(question.encode()).fetchall()]
    assert theirs
    assert [tuple(row) for row in client.run(question)] == theirs


def test_operator_classes(client: Client, postgres: psycopg.Connection[Any]) -> None:
    """Those that are here are PostgreSQL's, row by row."""
    for name, columns in (
        ("pg_opfamily", "oid::int, opfmethod::int, opfname::text"),
        ("pg_opclass", "oid::int, opcmethod::int, opcname::text, opcfamily::int, opcintype::int, opcdefault"),
        ("pg_amop", "oid::int, amopfamily::int, amoplefttype::int, amoprighttype::int, amopstrategy, amopopr::int"),
        ("pg_amproc", "oid::int, amprocfamily::int, amproclefttype::int, amprocrighttype::int, amprocnum"),
    ):
        ours = {tuple(row) for row in client.run(f"SELECT {columns} FROM {name}")}
        theirs = {tuple(row) for row in postgres.execute(f"SELECT {columns} FROM {name}".encode()).fetchall()}
        assert ours and ours <= theirs, sorted(ours - theirs)[:5]
