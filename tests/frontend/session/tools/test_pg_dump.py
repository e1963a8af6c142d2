"""Stock pg_dump and pg_restore: what is dumped here is restored into a PostgreSQL and into another database here."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from risingpy.frontend.wire import WireServer
from tests.frontend.session.conftest import Client
from tests.postgres_oracle import PROGRAMS, PostgresOracle

pytestmark = pytest.mark.skipif(
    not (PROGRAMS / "pg_dump").exists() or shutil.which("psql") is None, reason="needs PostgreSQL 15's pg_dump"
)

OBJECTS = r"""
CREATE ROLE dump_reader;
CREATE SEQUENCE ticket START 5 INCREMENT 3;
CREATE SCHEMA "a lab";
CREATE FUNCTION add1(a int) RETURNS int LANGUAGE sql AS 'SELECT a + 1';
CREATE TABLE "a lab".k (id int PRIMARY KEY, name varchar(10) NOT NULL DEFAULT 'it''s', price numeric(8, 2)
  CHECK (price > 0), UNIQUE (name, price), CONSTRAINT limits CHECK ((id > 0) AND (price < 1000)));
CREATE TABLE child (id serial PRIMARY KEY, k int REFERENCES "a lab".k ON DELETE CASCADE, at timestamptz, d date,
  j jsonb, arr int[], by bytea, b boolean, f double precision, r real, iv interval, t time, ts timestamp, txt text);
CREATE TABLE numbered (id bigint GENERATED ALWAYS AS IDENTITY (START 10), a int,
  g int GENERATED ALWAYS AS (a * 2) STORED, n bigint DEFAULT nextval('ticket'), UNIQUE NULLS NOT DISTINCT (a));
CREATE TABLE nokey (a int, b text);
CREATE TABLE "Odd ""name"" 1" ("select" int, "Ünï" text COLLATE "C");
CREATE INDEX on_b ON nokey (b DESC, a);
CREATE UNIQUE INDEX on_both ON nokey (a, b);
CREATE VIEW v AS SELECT id, name, price * 2 AS twice FROM "a lab".k WHERE price > 1;
CREATE VIEW vv (number, how_many) AS SELECT v.id, count(*) FROM v JOIN child ON child.k = v.id GROUP BY v.id;
CREATE VIEW called AS WITH nokey AS (SELECT add1(a) AS a FROM public.nokey) SELECT a FROM nokey;
CREATE MATERIALIZED VIEW mv AS SELECT name, sum(twice) AS total FROM v GROUP BY name;
COMMENT ON TABLE "a lab".k IS 'the k''s';
COMMENT ON COLUMN "a lab".k.name IS 'its name';
COMMENT ON CONSTRAINT limits ON "a lab".k IS 'two conditions';
COMMENT ON INDEX on_b IS 'an index';
COMMENT ON VIEW v IS 'a view';
COMMENT ON SCHEMA "a lab" IS 'a lab';
COMMENT ON SEQUENCE ticket IS 'tickets';
COMMENT ON FUNCTION add1(int) IS 'adds';
GRANT USAGE ON SCHEMA "a lab" TO dump_reader;
GRANT SELECT, INSERT ON "a lab".k TO dump_reader;
GRANT SELECT (id), UPDATE (a) ON numbered TO PUBLIC;
GRANT USAGE ON SEQUENCE ticket TO dump_reader WITH GRANT OPTION;
REVOKE EXECUTE ON FUNCTION add1(int) FROM PUBLIC;
INSERT INTO "a lab".k SELECT g, 'n' || g, g * 1.5 FROM generate_series(1, 20) g;
INSERT INTO child (k, at, d, j, arr, by, b, f, r, iv, t, ts, txt) VALUES
  (1, '2024-01-02 03:04:05+00', '2024-02-03', '{"a": [1, null]}', '{1,NULL,3}', '\x00ff', true, 1.5, 2.25,
   '1 day 02:03', '01:02:03', '2024-01-01 00:00:00.5', E'tab\t and \\ and\nline'),
  (2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO numbered (a) VALUES (1), (2), (NULL);
INSERT INTO nokey VALUES (1, 'a'), (2, 'a'), (NULL, NULL), (NULL, NULL);
INSERT INTO "Odd ""name"" 1" VALUES (1, 'ü'), (2, '');
"""
READ = (
    *('"a lab".k', "child", "numbered", "nokey", '"Odd ""name"" 1"', "v", "vv", "called", "mv"),
    "(SELECT relname, obj_description(oid) FROM pg_class WHERE relnamespace = 'public'::regnamespace) d",
    "(SELECT conname, contype FROM pg_constraint c JOIN pg_namespace n ON n.oid = connamespace"
    " WHERE nspname IN ('public', 'a lab')) c",
    "(SELECT nextval('ticket'), nextval('child_id_seq'), nextval('numbered_id_seq')) n",
)


def _run(program: str, *arguments: str) -> str:
    done = subprocess.run((PROGRAMS / program, *arguments), capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, (program, arguments, done.stderr)
    return done.stdout


def _rows(connection: psycopg.Connection[tuple[object, ...]]) -> dict[str, list[str]]:
    return {each: sorted(map(repr, connection.execute(f"SELECT * FROM {each}".encode()))) for each in READ}


def _lines(dump: str) -> list[str]:
    """A dump's lines, without the key of this run, and sorted: the rows of a table have no order."""
    return sorted(line for line in dump.splitlines() if "restrict" not in line)


@contextmanager
def _database_of(oracle: PostgresOracle) -> Iterator[tuple[str, ...]]:
    """How programs reach a new database of the PostgreSQL, whose roles are those of the dump."""
    with oracle.connect() as connection:
        connection.execute("CREATE ROLE root SUPERUSER; CREATE ROLE dump_reader")
        connection.execute("CREATE DATABASE restored")
        try:
            yield "-h", str(oracle.directory), "-p", str(oracle.port), "-U", "postgres", "-d", "restored"
        finally:
            connection.execute("DROP DATABASE restored (FORCE)")
            connection.execute("DROP ROLE root; DROP ROLE dump_reader")


@pytest.mark.parametrize("form", ["plain", "custom"])
def test_a_dump_is_restored_into_postgres_and_back(
    form: str, server: WireServer, client: Client, postgres_oracle: PostgresOracle, tmp_path: Path
) -> None:
    client.run(OBJECTS)
    client.run("CREATE DATABASE restored")
    own = ("-h", "127.0.0.1", "-p", str(server.port), "-U", "root")
    options = {"plain": ("--rows-per-insert=3",), "custom": ("-Fc",)}[form]
    file = str(tmp_path / "dump")
    _run("pg_dump", *own, *options, "-f", file, "dev")

    def restore(place: tuple[str, ...]) -> None:
        if form == "custom":
            _run("pg_restore", *place, "--exit-on-error", file)
        else:
            subprocess.run(
                ("psql", "-q", "-v", "ON_ERROR_STOP=1", *place, "-f", file),
                check=True,
                timeout=120,
                capture_output=True,
            )

    restore((*own, "-d", "restored"))
    assert _lines(_run("pg_dump", *own, "restored")) == _lines(_run("pg_dump", *own, "dev"))
    where = f"host=127.0.0.1 port={server.port} user=root"
    with _database_of(postgres_oracle) as place:
        restore(place)
        there = f"host={postgres_oracle.directory} port={postgres_oracle.port} user=postgres dbname=restored"
        with (
            psycopg.connect(f"{where} dbname=dev", autocommit=True) as one,
            psycopg.connect(f"{where} dbname=restored", autocommit=True) as two,
            psycopg.connect(there, autocommit=True) as other,
        ):
            expected = _rows(one)
            assert _rows(two) == expected
            assert _rows(other) == expected
    client.run("DROP DATABASE restored")
