"""The DuckDB yardstick on small input, called as the benchmarks call it, and the command's options."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.cases import CASES, FULL, QUICK
from benchmarks.epoch_files import write_epochs
from benchmarks.join import bids
from benchmarks.nexmark import Generator
from benchmarks.queries import QUERIES
from benchmarks.retract import changes, csv_block
from benchmarks.yardstick_process import YardstickFailed, run_job


@pytest.mark.parametrize("query", list(QUERIES))
def test_the_recomputed_view_is_the_expected_one(query: str, tmp_path: Path) -> None:
    write_epochs((Generator().bids(number, 500) for number in range(4)), tmp_path)
    same = {"query": query, "directory": str(tmp_path), "epochs": 4}
    expected = run_job("duckdb_yardstick", "expected", **same)
    measured = run_job("duckdb_yardstick", "throughput", **same, warm=1)
    assert expected and {name: measured[name] for name in expected} == expected
    assert measured["epochs"] == 3


def test_retractions(tmp_path: Path) -> None:
    for number in range(6):
        (tmp_path / f"{number:06}.csv").write_bytes(csv_block(number, 300))
    figures = run_job(
        "duckdb_yardstick", "retract", directory=str(tmp_path), loads=6, statements=changes(300, 6), rows=300
    )
    assert figures["check1"] == 6 * 300 - 300  # bids that are left
    assert figures["epochs"] == 8


def test_join(tmp_path: Path) -> None:
    write_epochs((bids(number, 500) for number in range(4)), tmp_path)
    figures = run_job("duckdb_yardstick", "join", directory=str(tmp_path), epochs=4, warm=1)
    assert figures["check0"] == 4 * 500  # every bid is on an auction
    assert figures["epochs"] == 3


def test_a_failed_job_tells_why() -> None:
    with pytest.raises(YardstickFailed, match="no_such_job"):
        run_job("duckdb_yardstick", "no_such_job")


def test_the_command_knows_its_cases() -> None:
    finished = subprocess.run(
        [sys.executable, "-m", "benchmarks", "--help"], capture_output=True, text=True, check=True
    )
    assert all(case in finished.stdout for case in CASES)
    assert "--quick" in finished.stdout


def test_quick_is_smaller_than_full() -> None:
    assert QUICK.epochs.keys() <= FULL.epochs.keys()
    assert QUICK.samples < FULL.samples
    assert max(QUICK.recovered_rows) < min(FULL.recovered_rows)
