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
CREATE TABLE "a lab".child (k int REFERENCES "a lab".k, c int REFERENCES public.child (id) DEFERRABLE);
CREATE TABLE numbered (id bigint GENERATED ALWAYS AS IDENTITY (START 10), a int,
  g int GENERATED ALWAYS AS (a * 2) STORED, n bigint DEFAULT nextval('ticket'), UNIQUE NULLS NOT DISTINCT (a));
CREATE TABLE nokey (a int, b text);
CREATE TABLE "Odd ""name"" 1" ("select" int, "Ünï" text COLLATE "C");
CREATE INDEX on_b ON nokey (b DESC, a);
CREATE UNIQUE INDEX on_both ON nokey (a, b);
CREATE UNIQUE INDEX partly ON nokey (a, lower(b::text)) WHERE b IS NOT NULL AND a > 1000;
CREATE TABLE tasks (id int PRIMARY KEY, d date, done boolean, k int);
CREATE INDEX ON tasks (d, (k + 1)) WHERE done AND k IN (1, 2);
CREATE UNIQUE INDEX ON tasks ((k * 2)) WHERE NOT done;
ALTER TABLE tasks RENAME COLUMN k TO "The k";
ALTER TABLE tasks RENAME COLUMN done TO is_done;
INSERT INTO tasks VALUES (1, '2024-01-01', true, 1), (2, NULL, false, 1), (3, NULL, NULL, 1);
CREATE VIEW v AS SELECT id, name, price * 2 AS twice FROM "a lab".k WHERE price > 1;
CREATE VIEW vv (number, how_many) AS SELECT v.id, count(*) FROM v JOIN child ON child.k = v.id GROUP BY v.id;
CREATE VIEW called AS WITH nokey AS (SELECT add1(a) AS a FROM public.nokey) SELECT a FROM nokey;
CREATE MATERIALIZED VIEW mv AS SELECT name, sum(twice) AS total FROM v GROUP BY name;
CREATE TYPE mood AS ENUM ('sad', 'it''s ok', 'happy');
ALTER TYPE mood ADD VALUE 'low' BEFORE 'sad';
CREATE TYPE "a lab"."Odd" AS ENUM ('x', 'y');
CREATE TABLE felt (id int PRIMARY KEY, m mood DEFAULT 'low' CHECK (m <> 'sad'), ms mood[], o "a lab"."Odd");
CREATE INDEX on_m ON felt (m);
CREATE VIEW moods AS SELECT id, m FROM felt WHERE m > 'low'::mood AND o = 'x'::"a lab"."Odd";
ALTER TYPE mood ADD VALUE 'last';
INSERT INTO felt VALUES (1, 'happy', '{sad,NULL,last}', 'x'), (2, DEFAULT, '{}', 'y'), (3, 'last', NULL, 'x');
CREATE DOMAIN "a lab".price AS numeric(8, 2) DEFAULT 1.5 NOT NULL CONSTRAINT above CHECK (VALUE > 0);
CREATE DOMAIN low AS "a lab".price CHECK (VALUE < 100) CHECK (VALUE <> 50);
CREATE DOMAIN nice AS mood DEFAULT 'happy' CHECK (VALUE <> 'sad');
CREATE DOMAIN few AS int[] CHECK (array_length(VALUE, 1) < 4);
CREATE TABLE priced (id int PRIMARY KEY, a "a lab".price, b low DEFAULT 2, c nice, l nice[], f few);
INSERT INTO priced (id, l, f) VALUES (1, '{low,NULL}', '{1,2}'), (2, NULL, NULL);
INSERT INTO priced VALUES (3, 9.5, 7.25, NULL, '{}', '{}');
ALTER DOMAIN nice ADD CONSTRAINT later CHECK (VALUE <> 'low') NOT VALID;
CREATE VIEW cheap AS SELECT id, b, c, a + 1 AS more FROM priced WHERE b < 5;
CREATE TYPE "a lab".place AS (street text, "No" int, m mood);
CREATE TYPE person AS (name varchar(20), home "a lab".place, tags text[]);
CREATE TABLE people (id int PRIMARY KEY, p person, homes "a lab".place[] DEFAULT '{}');
INSERT INTO people VALUES (1, ROW('Ann "x"', ROW('a b', 2, 'happy'), ARRAY['q', NULL]), NULL), (2, NULL, '{"(c,,)"}');
INSERT INTO people VALUES (3, '(,,)', DEFAULT);
CREATE VIEW streets AS SELECT id, p, ((p).home).street AS street FROM people;
COMMENT ON DOMAIN low IS 'a domain';
COMMENT ON CONSTRAINT above ON DOMAIN "a lab".price IS 'a rule';
GRANT USAGE ON DOMAIN low TO dump_reader;
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
INSERT INTO "a lab".child VALUES (1, 1), (NULL, 2);
INSERT INTO numbered (a) VALUES (1), (2), (NULL);
INSERT INTO nokey VALUES (1, 'a'), (2, 'a'), (NULL, NULL), (NULL, NULL);
INSERT INTO "Odd ""name"" 1" VALUES (1, 'ü'), (2, '');
"""
READ = (
    *(
        '"a lab".k',
        "child",
        '"a lab".child',
        "numbered",
        "nokey",
        '"Odd ""name"" 1"',
        "v",
        "vv",
        "called",
        "mv",
        "felt",
        "moods",
        "priced",
        "cheap",
        "people",
        "streets",
    ),
    "(SELECT relname, obj_description(oid) FROM pg_class WHERE relnamespace = 'public'::regnamespace) d",
    "(SELECT table_name, column_name, domain_name, data_type, udt_name FROM information_schema.columns"
    " WHERE table_name IN ('priced', 'cheap')) i",
    "(SELECT domain_name, data_type, numeric_scale, udt_name FROM information_schema.domains"
    " WHERE domain_schema IN ('public', 'a lab')) o",
    "(SELECT conname, contype, CASE contype WHEN 'f' THEN pg_get_constraintdef(c.oid) END"
    " FROM pg_constraint c JOIN pg_namespace n ON n.oid = connamespace"
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
