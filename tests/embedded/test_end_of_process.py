"""A program that ends without close(): it ends as it would without a database, prints nothing, and loses nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import risingpy
from risingpy.errors import SqlError

OPENED = """
import os, signal, sys, threading, time
import risingpy

def opened():
    db = risingpy.connect(sys.argv[1], parallelism=2)
    db.sql("CREATE TABLE IF NOT EXISTS t (k INT PRIMARY KEY, v TEXT)")
    return db
"""
INSERT = "db.sql(\"INSERT INTO t SELECT i, 'value ' || i FROM generate_series(1, 200000) i\")"
ENDS = {  # each with its exit code
    "in the middle of an epoch": (f"db = opened()\n{INSERT}", 0),
    "without a name for the database": (f"def run():\n    db = opened()\n    {INSERT}\nrun()", 0),
    "with a session that outlives the name": (f"db = opened().session()\n{INSERT}\nimport gc; gc.collect()", 0),
    "by sys.exit": (f"db = opened()\n{INSERT}\nsys.exit(3)", 3),
    "by a signal": (f"db = opened()\n{INSERT}\nos.kill(os.getpid(), signal.SIGTERM)", -15),
    "after a fork": (
        f"db = opened()\nchild = os.fork()\nif not child: sys.exit(0)\n"
        f"if os.waitpid(child, 0)[1]: sys.exit(9)\n{INSERT}",
        0,
    ),
    "while a thread waits for changes": (
        f"db = opened()\nthreading.Thread(target=lambda: list(db.subscribe('t')), daemon=True).start()\n{INSERT}",
        0,
    ),
}


@pytest.mark.parametrize("end", ENDS)
def test_a_program_ends_as_it_would_without_a_database(tmp_path: Path, end: str) -> None:
    code, expected = ENDS[end]
    command = [sys.executable, "-c", OPENED + code, str(tmp_path / "data")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (expected, "", "")
    with risingpy.connect(tmp_path / "data") as database:
        assert database.sql("SELECT count(*), max(v) FROM t").fetchone() == (200_000, "value 99999")


def test_a_directory_is_free_after_close_and_says_who_has_it_before(tmp_path: Path) -> None:
    database = risingpy.connect(tmp_path / "data", parallelism=2)
    with pytest.raises(SqlError) as refused:
        risingpy.connect(tmp_path / "data")
    assert refused.value.hint == "If this process has it open, use that database, or close() it first."
    database.close()
    risingpy.connect(tmp_path / "data").close()
