"""kill -9 between any two steps of a COMMIT that changes the schema and writes rows: all of it is there, or nothing.

A program of its own, which is killed at a fault point, has the database open; then the test opens it. The commit point
is the meta store's transaction: after it, all must be there. `RISINGPY_CRASH_ROUNDS` above 2 tries every point.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from risingpy.frontend.results import StartupParameters
from risingpy.frontend.session import open_session
from risingpy.meta.database import Database
from risingpy.meta.epochs.in_process_runner import InProcessRunner
from tests.frontend.session.conftest import Client

_PROGRAM = """
import sys
from pathlib import Path
from tests.frontend.session.ddl_in_transactions.test_killed_at_commit import opened
from risingpy.storage.fault_points import of_this_process
database, client = opened(Path(sys.argv[1]))
client.run("CREATE TABLE e (a int PRIMARY KEY); INSERT INTO e VALUES (1); FLUSH")
client.run("BEGIN; INSERT INTO e VALUES (2); ALTER TABLE e ADD COLUMN b int DEFAULT 7")
client.run("CREATE TABLE n (a serial PRIMARY KEY, s varchar UNIQUE); INSERT INTO n (s) VALUES ('x'), ('y')")
client.run("DELETE FROM e WHERE a = 1; CREATE VIEW v AS SELECT s FROM n; COMMENT ON TABLE n IS 'new'")
of_this_process.arm(sys.argv[2])
client.run("COMMIT")
"""
AFTER = [f"{point}=kill@1" for point in ("change.log", "log.block.write", "log.block.acknowledge", "change.publish")]
BEFORE = ["graph.write=kill@1", "meta.commit=kill@1"]
LATER = ["log.block.sync=kill@1", "meta.commit=kill@2", "shard.commit=kill@1", "epoch.publish=kill@1"]
IS_LONG = int(os.environ.get("RISINGPY_CRASH_ROUNDS", "2")) > 2


def opened(directory: Path) -> tuple[Database, Client]:
    database = Database(directory, parallelism=2)
    database.start(InProcessRunner(database.data_dir))
    return database, Client(open_session(database, StartupParameters(user="root", database="dev")))


@pytest.mark.parametrize(
    ("fault", "committed"),
    [
        *((fault, True) for fault in (AFTER + LATER if IS_LONG else AFTER[:2])),
        *((fault, False) for fault in (BEFORE if IS_LONG else BEFORE[1:])),
    ],
)
def test_all_or_nothing(tmp_path: Path, fault: str, committed: bool) -> None:
    root = Path(__file__).parents[4]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    done = subprocess.run([sys.executable, "-c", _PROGRAM, tmp_path / "data", fault], env=environment, timeout=300)
    assert done.returncode == -signal.SIGKILL
    database, client = opened(tmp_path / "data")
    try:
        if committed:
            assert client.run("SELECT a, b FROM e") == [(2, 7)]
            assert sorted(client.run("SELECT s FROM v")) == [("x",), ("y",)]
            assert client.run("SELECT obj_description('n'::regclass)") == [("new",)]
            client.run("INSERT INTO n (s) VALUES ('z')")
            assert client.run("SELECT count(DISTINCT a) FROM n") == [(3,)]
        else:
            assert client.run("SELECT * FROM e") == [(1,)]
            assert client.run("SELECT count(*) FROM pg_class WHERE relname IN ('n', 'v', 'n_a_seq')") == [(0,)]
            client.run("CREATE TABLE n (a int)")
    finally:
        database.close()
