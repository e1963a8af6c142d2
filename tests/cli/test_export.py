"""`risingpy export` and `import`: a database with every kind of object comes back, or nothing does."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from risingpy.cli import main
from risingpy.client.transfer.exported import ExportedStatement, TableRows, digest_of, write_note, write_schema
from risingpy.plan.catalog import CreatedRelation
from risingpy.server_process import HOST, ServerProcess
from tests.cli.test_altered_database import HISTORY
from tests.frontend.session.tools.test_pg_dump import OBJECTS

MORE = r"""
CREATE ROLE keeper LOGIN CREATEDB PASSWORD 'open' VALID UNTIL '2100-01-01';
CREATE ROLE clerk LOGIN CONNECTION LIMIT 7;
GRANT keeper TO clerk WITH ADMIN OPTION;
COMMENT ON ROLE clerk IS 'a clerk';
CREATE SCHEMA "of keeper" AUTHORIZATION keeper;
CREATE SECRET word WITH (backend = 'meta') AS 'hush';
CREATE CONNECTION guarded WITH (type = 'iceberg', warehouse.path = 's3://w', catalog.type = 'rest',
  catalog.uri = 'http://127.0.0.1:8181', catalog.credential = SECRET word);
CREATE FUNCTION twice(a int) RETURNS int LANGUAGE sql AS 'SELECT add1(a) + a';
CREATE FUNCTION py(a int) RETURNS int LANGUAGE python AS $$
def py(a):
    return a * 10
$$;
CREATE FUNCTION between_words(a int) RETURNS int BEGIN ATOMIC SELECT twice(a) + 1; END;
CREATE FUNCTION most(VARIADIC v anyarray) RETURNS anyelement LANGUAGE sql AS 'SELECT max(x) FROM unnest(v) AS x';
CREATE FUNCTION pairs() RETURNS SETOF record LANGUAGE sql AS 'SELECT 1, 2';
COMMENT ON FUNCTION most(VARIADIC anyarray) IS 'the greatest';
CREATE VIEW of_pairs AS SELECT most(x, y) AS z FROM pairs() AS p (x int, y int);
REVOKE EXECUTE ON FUNCTION most(anyarray) FROM PUBLIC;
CREATE TABLE egg (id int PRIMARY KEY, hen int);
CREATE TABLE hen (id int PRIMARY KEY, egg int REFERENCES egg);
ALTER TABLE egg ADD CONSTRAINT laid FOREIGN KEY (hen) REFERENCES hen;
INSERT INTO egg VALUES (1, NULL), (2, NULL);
INSERT INTO hen VALUES (1, 1), (2, NULL);
UPDATE egg SET hen = 2 WHERE id = 2;
CREATE TABLE values_of (i int, n numeric, d numeric(10, 3), w numeric(38, 5), f double precision, r real,
  ts timestamp, ns timestamp_ns, tz timestamptz, d1 date, t time, iv interval, u uuid, j jsonb, b bytea, h rw_int256,
  a int[][], s struct<x int, y varchar[]>, txt varchar, bo boolean, c char(5), sm smallint, bi bigint);
INSERT INTO values_of VALUES
  (1, 12345678901234567890.123456789, 1.5, 12345678901234567890123456789012.5, 'NaN', '-Infinity',
   '9999-12-31', '2024-01-01 00:00:00.123456789', '0002-02-03', '1582-10-10', '23:59:59.999999',
   '1 mon 2 days 00:00:03.5', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11',
   '{"a": [1, "x\ty"]}', '\x00ff5c', '170141183460469231731687303715884105728', ARRAY[ARRAY[1, NULL], ARRAY[3, 4]],
   ROW(1, ARRAY['a', 'b,"c']), E'tab\t back\\ \\N line\n"', true, 'ab', -3,
   9223372036854775807),
  (2, 'NaN', NULL, NULL, 1e-300, 1.17549e-38, '0001-01-01',
   '1969-12-31 23:59:59.999999999', '9999-12-31 23:59:59.999999+00', '4000-02-29', NULL,
   '-1 day', NULL, 'null', '', NULL, '{}', NULL, '', false, '', 0, -9223372036854775808);
INSERT INTO values_of (i) VALUES (3);
CREATE TABLE marked (at timestamp, v int, WATERMARK FOR at AS at - INTERVAL '1 second') APPEND ONLY;
INSERT INTO marked SELECT TIMESTAMP '2024-01-01' + i * INTERVAL '1 minute', i FROM generate_series(1, 50) i;
ALTER SEQUENCE child_id_seq RENAME TO numbers_of_children;
CREATE TABLE newest (id int PRIMARY KEY, v int, at int) ON CONFLICT DO UPDATE FULL WITH VERSION COLUMN (at);
INSERT INTO newest VALUES (1, 2, 3);
CREATE TABLE target (id int PRIMARY KEY, v varchar);
INSERT INTO target VALUES (1000, 'own');
CREATE SINK fed INTO target AS SELECT id, b AS v FROM elsewhere.t2;
CREATE TABLE hooked (data jsonb) WITH (connector = 'webhook') VALIDATE SECRET word
  AS secure_compare(headers->>'authorization', word);
CREATE TABLE generated (v int, w varchar) WITH (connector = 'datagen', datagen.rows.per.second = '1',
  fields.v.kind = 'sequence',
  fields.v.start = '1', fields.v.end = '3');
CREATE SEQUENCE owned_one OWNED BY keyless.v;
SELECT nextval('owned_one');
CREATE SEQUENCE unused START 9;
CREATE VIEW replaced AS SELECT 1 AS one;
CREATE VIEW younger AS SELECT 2 AS one;
CREATE OR REPLACE VIEW replaced AS SELECT one FROM younger;
CREATE TEMP TABLE passing (a int);
GRANT SELECT ON hen TO keeper WITH GRANT OPTION;
SET ROLE keeper;
GRANT SELECT ON hen TO clerk;
CREATE TABLE "of keeper".mine (id int PRIMARY KEY);
RESET ROLE;
ALTER MATERIALIZED VIEW mv OWNER TO keeper;
ALTER FUNCTION twice(int) OWNER TO keeper;
ALTER SECRET word OWNER TO keeper;
ALTER DEFAULT PRIVILEGES FOR ROLE keeper REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;
ALTER DEFAULT PRIVILEGES FOR ROLE keeper IN SCHEMA public GRANT SELECT ON TABLES TO clerk;
GRANT USAGE ON LANGUAGE python TO clerk;
GRANT SET ON PARAMETER log_statement TO clerk;
REVOKE ALL ON SCHEMA public FROM PUBLIC;
REVOKE CONNECT ON DATABASE dev FROM PUBLIC;
ALTER ROLE clerk SET statement_memory = '100MB';
ALTER DATABASE dev SET backfill_rate_limit = 1000000;
CREATE DATABASE "other one" OWNER keeper;
COMMENT ON DATABASE "other one" IS 'other';
FLUSH
"""
QUERY = "SELECT part, database_name, kind, name, definition, rows_query FROM rw_catalog.rw_definitions"
PRIVILEGES = "grantor, grantee, table_schema, table_name"
OTHERS = (
    f"SELECT {PRIVILEGES}, privilege_type, is_grantable FROM information_schema.table_privileges",
    f"SELECT {PRIVILEGES}, column_name, privilege_type FROM information_schema.column_privileges",
    "SELECT grantor, grantee, routine_name, is_grantable FROM information_schema.routine_privileges",
    "SELECT relname, relkind, pg_get_userbyid(relowner), obj_description(oid) FROM pg_class",
    "SELECT pg_get_userbyid(roleid), pg_get_userbyid(member), admin_option FROM pg_auth_members",
    "SELECT rolname, rolcanlogin, rolconnlimit, rolpassword, rolvaliduntil FROM pg_authid",
    "SELECT setconfig FROM pg_db_role_setting",
    "SELECT nspname, pg_get_userbyid(nspowner) FROM pg_namespace",
    "SELECT conname, contype, pg_get_constraintdef(oid) FROM pg_constraint",
    "SELECT sequencename, last_value, increment_by FROM pg_sequences",
)
VIEWS = ("elsewhere.t2", "m2", "mv", "vv", "called", "replaced", "target")


def statements(text: str) -> list[str]:
    return [each.rstrip(";") for each in text.strip().split(";\n")]


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ServerProcess, Path]]:
    place = tmp_path_factory.mktemp("exported")
    flags = ("--file-roots", "/", "--unix-socket-directory", str(place))
    server = ServerProcess(place / "data", engine="inprocess", flags=flags)
    with server.connect() as connection:
        for each in (*statements(HISTORY), *statements(OBJECTS.replace("numbered", "counted"))):
            connection.execute(each.encode())
        for each in statements(MORE):
            connection.execute(each.encode())
    with psycopg.connect(where(server, place), dbname="other one", autocommit=True) as other:
        other.execute("CREATE MATERIALIZED VIEW far AS SELECT id FROM dev.public.hen")
    code, output = command("export", "--host", place, "--port", server.port, place / "export")
    assert code == 0, output
    yield server, place / "export"
    server.kill()


def command(*arguments: object) -> tuple[int, str]:
    done = CliRunner().invoke(main, list(map(str, arguments)))
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.output


def where(server: ServerProcess, socket: Path) -> str:
    return f"host={socket} port={server.port} user=root"


def with_secrets(export: Path, to: Path) -> Path:
    """A copy of the export, in which somebody has written the secrets."""
    shutil.copytree(export, to)
    text = (to / "schema.sql").read_text()
    (to / "schema.sql").write_text(text.replace("'***'", "'hush'"))
    return to


def test_everything_comes_back(exported: tuple[ServerProcess, Path], tmp_path: Path) -> None:
    before, export = exported
    whole = with_secrets(export, tmp_path / "export")
    arguments = ("import", "--engine", "inprocess", "--file-roots", "/", "--parallelism", 3)
    code, output = command(*arguments, "--data-dir", tmp_path / "new", whole)
    assert code == 0, output
    assert sorted(each.name for each in tmp_path.iterdir()) == ["export", "new", "new.key"]
    flags = ("--file-roots", "/", "--unix-socket-directory", str(tmp_path))
    after = ServerProcess(tmp_path / "new", engine="inprocess", flags=flags)
    try:
        with (
            psycopg.connect(where(before, export.parent), dbname="dev", autocommit=True) as one,
            psycopg.connect(where(after, tmp_path), dbname="dev", autocommit=True) as two,
        ):
            old, new = (set(each.execute(QUERY).fetchall()) for each in (one, two))
            assert old == new
            queries = [row[5] for row in old if row[5]] + [f"SELECT * FROM {each}" for each in VIEWS]
            queries += OTHERS
            queries += ['SELECT * FROM "other one".public.far', "SELECT twice(2), py(3)"]
            assert len(queries) > 25
            for query in queries:
                found = [sorted(map(repr, each.execute(query.encode()).fetchall())) for each in (one, two)]
                assert found[0] == found[1], query
            assert two.execute("SELECT nextval('owned_one'), nextval('unused'), nextval('ticket')").fetchone() == (
                2,
                9,
                14,
            )
        with (
            psycopg.connect(
                f"host={HOST} port={after.port} user=keeper password=open dbname='other one'"
            ) as connection,
            pytest.raises(psycopg.errors.InsufficientPrivilege),
        ):
            connection.execute("SELECT * FROM rw_catalog.rw_definitions")
    finally:
        after.kill()


def test_every_kind_of_object_is_in_it(exported: tuple[ServerProcess, Path]) -> None:
    """A kind of relation that comes later has to be in the history above, and so in exports."""
    heads = re.findall(r"^-- risingpy \d+ (\{.*\})$", (exported[1] / "schema.sql").read_text(), re.MULTILINE)
    kinds = {json.loads(head)["kind"] for head in heads}
    relations = {each.noun for each in CreatedRelation.__args__}
    others = {
        "role",
        "membership",
        "database",
        "schema",
        "parameter",
        "secret",
        "connection",
        "function",
        "type",
        "right",
        "comment",
    }
    assert relations | others == kinds


def test_no_secret_is_in_it_and_an_import_asks_for_them(exported: tuple[ServerProcess, Path], tmp_path: Path) -> None:
    text = (exported[1] / "schema.sql").read_text()
    assert "hush" not in text and "'open'" not in text
    code, output = command("import", "--data-dir", tmp_path / "new", exported[1])
    place = next(number for number, line in enumerate(text.split("\n"), 1) if line.startswith("CREATE SECRET"))
    assert code == 1 and f"line {place}: secret public.word" in output
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_export_is_refused(exported: tuple[ServerProcess, Path], tmp_path: Path) -> None:
    def refusal(damage: str) -> str:
        copy = with_secrets(exported[1], tmp_path / damage)
        rows = next(each for each in sorted((copy / "rows").iterdir()) if each.stat().st_size > 1000)
        match damage:
            case "bit":
                whole = bytearray(rows.read_bytes())
                whole[len(whole) // 2] ^= 1
                rows.write_bytes(whole)
            case "missing":
                rows.unlink()
            case "short":
                text = (copy / "schema.sql").read_text()
                (copy / "schema.sql").write_text(text[: text.rindex("\n-- risingpy")])
            case "unfinished":
                (copy / "export.json").unlink()
        code, output = command("import", "--data-dir", tmp_path / "new", copy)
        shutil.rmtree(copy)
        assert code == 1 and list(tmp_path.iterdir()) == []
        return output

    assert "is damaged: it is not what was exported of" in refusal("bit")
    assert "cannot be read" in refusal("missing")
    assert "it is damaged" in refusal("short")
    assert "is no export, or was not finished" in refusal("unfinished")


def test_directories_with_something_in_them_are_refused(exported: tuple[ServerProcess, Path], tmp_path: Path) -> None:
    server, export = exported
    whole = with_secrets(export, tmp_path / "export")
    (tmp_path / "used").mkdir()
    (tmp_path / "used" / "file").write_text("")
    code, output = command("import", "--data-dir", tmp_path / "used", whole)
    assert code == 1 and "exists: an import makes a new data directory" in output
    code, output = command("export", "--host", export.parent, "--port", server.port, tmp_path / "used")
    assert code == 1 and "is not an empty directory" in output
    code, output = command("export", "--host", export.parent, "--port", 1, tmp_path / "none")
    assert code == 1 and "Traceback" not in output and not (tmp_path / "none").exists()


def small_export(directory: Path, query: str) -> Path:
    """An export of a table with a row, and of a view of it."""
    (directory / "rows").mkdir(parents=True)
    pq.write_table(pa.table({"a": pa.array([7], pa.int32())}), directory / "rows" / "1.parquet")
    steps = [
        ExportedStatement("tables", "dev", "table", "public.t", (), "CREATE TABLE t (a int)"),
        ExportedStatement("views", "dev", "view", "public.v", (), f"CREATE VIEW v AS {query}"),
    ]
    write_schema(directory, steps)
    digest = digest_of(directory / "rows" / "1.parquet")
    write_note(directory, "0", [TableRows("dev", "public.t", "rows/1.parquet", 1, digest)], len(steps))
    return directory


def test_a_statement_that_fails_leaves_nothing(tmp_path: Path) -> None:
    export = small_export(tmp_path / "export", "SELECT nope FROM t")
    code, output = command("import", "--engine", "inprocess", "--data-dir", tmp_path / "new", export)
    assert code == 1 and re.search(r'schema.sql, line 10: view public.v: column "nope" does not exist', output), output
    assert list(tmp_path.iterdir()) == [export]


def test_an_import_that_is_killed_is_begun_anew(tmp_path: Path) -> None:
    export = small_export(tmp_path / "export", "SELECT a FROM t")
    arguments = ("import", "--engine", "inprocess", "--data-dir", str(tmp_path / "new"), str(export))
    killed = subprocess.Popen([sys.executable, "-m", "risingpy", *arguments], stdout=subprocess.PIPE, text=True)
    left = tmp_path / "new.importing"
    deadline = time.monotonic() + 60
    while not (left / "data" / "lock").exists() and time.monotonic() < deadline:  # its server begins
        time.sleep(0.02)
    code, output = command(*arguments)
    assert code == 1 and f"another import (process {killed.pid})" in output
    os.kill(killed.pid, signal.SIGKILL)
    killed.wait()
    assert left.exists() and not (tmp_path / "new").exists()
    code, output = command(*arguments)
    assert code == 0, output
    assert sorted(each.name for each in tmp_path.iterdir()) == ["export", "new"]
