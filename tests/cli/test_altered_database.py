"""Every command, in a process of its own, on a database that went through every kind of ALTER.

Each command has a process of its own, because the tests' process has already imported what a command may forget.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from risingpy.frontend.parser import ast_alter
from risingpy.server_process import HOST, ServerProcess
from tests.meta.conftest import Server

HISTORY = """
CREATE SCHEMA elsewhere;
CREATE TABLE t (id bigint PRIMARY KEY, a int, b varchar, gone varchar, n numeric, s struct<x int, y varchar>, l int[]);
CREATE TABLE twice (id int PRIMARY KEY, v smallint);
CREATE TABLE keyless (v int);
CREATE INDEX by_b ON t (b);
CREATE MATERIALIZED VIEW m AS SELECT id, b FROM t;
CREATE VIEW plain AS SELECT b FROM m;
INSERT INTO t SELECT i, i, 'b' || i, 'gone', i * 1.5, ROW(i::int, 'y'), ARRAY[i::int] FROM generate_series(1, 40) i;
INSERT INTO twice SELECT i, i FROM generate_series(1, 40) i;
INSERT INTO keyless VALUES (1), (2), (NULL);
ALTER TABLE t ADD COLUMN added int;
ALTER TABLE t ADD COLUMN filled varchar NOT NULL DEFAULT 'old', ADD COLUMN many int[] DEFAULT ARRAY[1, 2];
INSERT INTO t (id, a, b, added) VALUES (41, 41, 'new', 9);
ALTER TABLE t ALTER COLUMN a TYPE bigint;
ALTER TABLE t ALTER COLUMN n TYPE varchar;
ALTER TABLE t ALTER COLUMN added TYPE double precision USING added / 2.0;
ALTER TABLE t ALTER COLUMN l TYPE bigint[];
ALTER TABLE twice ALTER COLUMN v TYPE int;
INSERT INTO twice VALUES (41, 41);
ALTER TABLE twice ALTER COLUMN v SET DATA TYPE bigint;
INSERT INTO twice VALUES (42, 42);
ALTER TABLE twice ALTER COLUMN v TYPE varchar;
ALTER TABLE keyless ALTER COLUMN v TYPE numeric;
ALTER TABLE t RENAME COLUMN added TO renamed;
ALTER TABLE t ALTER COLUMN b SET DEFAULT 'later', ALTER COLUMN filled DROP DEFAULT;
ALTER TABLE t ALTER COLUMN a SET NOT NULL, ALTER COLUMN filled DROP NOT NULL;
INSERT INTO t (id, a) VALUES (42, 42);
ALTER TABLE t DROP COLUMN gone;
CREATE SINK out FROM t WITH (connector = 'blackhole');
ALTER SINK out SET sink_rate_limit = 100;
ALTER TABLE t RENAME TO t2;
ALTER TABLE t2 SET SCHEMA elsewhere;
ALTER MATERIALIZED VIEW m RENAME TO m2;
ALTER VIEW plain RENAME TO plain2;
ALTER INDEX elsewhere.by_b RENAME TO by_b2;
ALTER SYSTEM SET old_snapshot_threshold TO '1h';
CREATE SOURCE files (a int) WITH (connector = 'file', path = '/var/lib/readings/none/*.arrow');
CREATE MATERIALIZED VIEW of_files AS SELECT count(*) AS n FROM files;
ALTER SOURCE files SET source_rate_limit = 10;
CREATE SOURCE made (v int) WITH (connector = 'datagen');
ALTER SOURCE made ADD COLUMN w varchar;
CREATE SUBSCRIPTION feed FROM keyless WITH (retention = '1 hour');
ALTER SUBSCRIPTION feed SET retention = '1 day';
CREATE TABLE bare (id int, v int);
INSERT INTO bare VALUES (1, 1), (2, 4);
ALTER TABLE bare ADD PRIMARY KEY (id);
ALTER TABLE bare ADD CONSTRAINT positive CHECK (id > 0) NOT VALID;
ALTER TABLE bare VALIDATE CONSTRAINT positive;
ALTER TABLE bare RENAME CONSTRAINT positive TO above_zero;
ALTER TABLE bare ADD CONSTRAINT once UNIQUE (id);
ALTER TABLE bare DROP CONSTRAINT once;
CREATE SECRET word WITH (backend = 'meta') AS 'first';
ALTER SECRET word AS 'second';
DROP SECRET word;
CREATE CONNECTION lake WITH (type = 'iceberg', warehouse.path = 's3://lake', catalog.type = 'rest',
 catalog.uri = 'http://127.0.0.1:8181');
ALTER CONNECTION lake CONNECTOR WITH (catalog.uri = 'http://127.0.0.1:8182');
ALTER SOURCE files CONNECTOR WITH (source_rate_limit = 7);
UPDATE elsewhere.t2 SET b = 'updated' WHERE id = 3;
FLUSH
"""
READS = (
    "SELECT * FROM elsewhere.t2 ORDER BY id",
    "SELECT id, v FROM twice ORDER BY id",
    "SELECT v FROM keyless ORDER BY v",
    "SELECT * FROM m2 ORDER BY id",
    "SELECT count(*) FROM plain2",
    "SELECT n FROM of_files",
    "SELECT * FROM bare ORDER BY id",
    "SELECT id FROM elsewhere.t2 WHERE b = 'b7'",
)


def risingpy(*arguments: object) -> tuple[int, str]:
    """Runs a command in a new process."""
    command = [sys.executable, "-m", "risingpy", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    return done.returncode, done.stdout + done.stderr


def answers(port: int) -> str:
    code, output = risingpy("sql", "--host", HOST, "--port", port, *(part for sql in READS for part in ("-c", sql)))
    assert code == 0, output
    return output


@pytest.fixture(scope="module")
def altered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("altered") / "data"
    made = Server(directory)
    client = made.client()
    for statement in HISTORY.strip().split(";\n"):
        client.run(statement)
    made.stop()
    return directory


@pytest.fixture
def data_dir(altered: Path, tmp_path: Path) -> Path:
    """A copy of it, for one command to change."""
    shutil.copytree(altered, tmp_path / "data")
    return tmp_path / "data"


@pytest.fixture
def server(data_dir: Path) -> Iterator[ServerProcess]:
    running = ServerProcess(data_dir, engine="inprocess")
    yield running
    running.kill()


def test_the_history_has_every_kind_of_alter() -> None:
    kinds = {
        "AddColumn": " ADD COLUMN ",
        "AddConstraint": " ADD CONSTRAINT ",
        "AddPrimaryKey": " ADD PRIMARY KEY ",
        "DropConstraint": " DROP CONSTRAINT ",
        "RenameConstraint": " RENAME CONSTRAINT ",
        "ValidateConstraint": " VALIDATE CONSTRAINT ",
        "DropColumn": " DROP COLUMN ",
        "RenameColumn": " RENAME COLUMN ",
        "SetDefault": " SET DEFAULT ",
        "SetNotNull": " SET NOT NULL",
        "SetType": " TYPE ",
        "AlterConnection": "ALTER CONNECTION ",
        "AlterConnector": "ALTER SOURCE files CONNECTOR WITH ",
        "AlterRelation": " RENAME TO ",
        "AlterSecret": "ALTER SECRET ",
        "AlterSink": "ALTER SINK ",
        "AlterSource": "SET source_rate_limit",
        "AlterSourceColumns": "ALTER SOURCE made ADD COLUMN ",
        "AlterSubscription": "ALTER SUBSCRIPTION ",
        "AlterSystem": "ALTER SYSTEM SET ",
        "AlterTable": "ALTER TABLE ",
    }
    defined = {name for name, it in vars(ast_alter).items() if getattr(it, "__module__", "") == ast_alter.__name__}
    assert set(kinds) == defined
    assert all(text in HISTORY for text in kinds.values())


def test_check_finds_nothing(data_dir: Path) -> None:
    code, output = risingpy("check", "--data-dir", data_dir)
    assert (code, output.strip().endswith("no problems")) == (0, True), output


def test_serve_and_sql_read_it(server: ServerProcess) -> None:
    output = answers(server.port)
    rows = [[cell.strip() for cell in line.split("|")] for line in output.splitlines() if "|" in line]
    assert ["3", "3", "updated", "4.5", "(3,y)", "{3}", "", "old", "{1,2}"] in rows
    assert ["41", "41", "new", "", "", "", "4.5", "old", "{1,2}"] in rows
    assert ["42", "42", "later", "", "", "", "", "", "{1,2}"] in rows
    assert ["7", "7"] in rows and ["42", "42"] in rows
    assert server.stop() == 0


def test_rescale_moves_it(server: ServerProcess, data_dir: Path) -> None:
    before = answers(server.port)
    server.stop()
    for shards in (3, 1):
        code, output = risingpy("rescale", "--data-dir", data_dir, "--parallelism", shards)
        assert code == 0, output
        assert risingpy("check", "--data-dir", data_dir)[0] == 0
    again = ServerProcess(data_dir, engine="inprocess")
    try:
        assert answers(again.port) == before
    finally:
        again.kill()


def test_backup_and_restore_give_it_back(server: ServerProcess, tmp_path: Path) -> None:
    before = answers(server.port)
    code, output = risingpy("backup", "--host", HOST, "--port", server.port, tmp_path / "backup")
    assert code == 0, output
    server.stop()
    code, output = risingpy("restore", "--data-dir", tmp_path / "restored", tmp_path / "backup")
    assert code == 0 and "no problems" in output, output
    again = ServerProcess(tmp_path / "restored", engine="inprocess")
    try:
        assert answers(again.port) == before
    finally:
        again.kill()


def test_slt_runs_beside_it(server: ServerProcess, tmp_path: Path) -> None:
    suite = tmp_path / "altered.slt"
    suite.write_text(
        "statement ok\nCREATE TABLE mine (id int PRIMARY KEY, v int)\n\n"
        "statement ok\nINSERT INTO mine VALUES (1, 2)\n\n"
        "statement ok\nALTER TABLE mine ALTER COLUMN v TYPE bigint\n\nquery II\nSELECT * FROM mine\n----\n1 2\n"
    )
    for mode in ("batch", "stream", "backfill"):
        code, output = risingpy("slt", "--mode", mode, "--host", HOST, "--port", server.port, suite)
        assert code == 0, output


def test_the_epochs_of_a_restart_read_it(server: ServerProcess) -> None:
    """A view made now backfills from rows of every form."""
    with server.connect() as connection:
        connection.execute("CREATE MATERIALIZED VIEW again AS SELECT a, n, renamed, l, many FROM elsewhere.t2")
        mine = connection.execute("SELECT * FROM again ORDER BY a").fetchall()
        assert mine == connection.execute("SELECT a, n, renamed, l, many FROM elsewhere.t2 ORDER BY a").fetchall()
        assert json.dumps(mine[0]) == json.dumps([1, "1.5", None, [1], [1, 2]])


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_demo_runs_beside_it(server: ServerProcess) -> None:
    code, output = risingpy("demo", "--host", HOST, "--port", server.port)
    assert code == 0, output
