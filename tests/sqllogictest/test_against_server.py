"""The suites against our own server: SELECT, views made before the data, views made after it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from risingpy.sqllogictest.client import Connect
from risingpy.sqllogictest.jobs import SUITES, find_files, run_files
from risingpy.sqllogictest.modes import Mode
from risingpy.sqllogictest.report import failure_lines
from risingpy.sqllogictest.runner import run_file
from tests.sqllogictest.random_suite import random_suite

OURS = (Mode.BATCH, Mode.STREAM, Mode.BACKFILL)


# A view for each of 4,400 answers takes ten minutes: `make suites` does that, `make test` takes every so many files.
SLICE = int(os.environ.get("RISINGPY_SUITES_SLICE", "16"))


@pytest.mark.timeout(900 if SLICE > 1 else 0)
@pytest.mark.parametrize("mode", OURS)
def test_every_suite_holds(server: Connect, mode: Mode) -> None:
    files = find_files([SUITES])
    if mode is not Mode.BATCH:
        files = files[OURS.index(mode) % SLICE :: SLICE]
    results = run_files(files, server, mode, jobs=4)
    assert [line for result in results for line in failure_lines(result)] == []


# `make engines-test` takes those of DDL too.
ON_SPARK = os.environ.get(
    "RISINGPY_SPARK_SUITES", "streaming types/far_dates.slt types/ranges.slt aggregate/long_intervals.slt"
).split()


@pytest.mark.timeout(600)
@pytest.mark.parametrize("folder", ON_SPARK)
def test_suites_hold_on_spark(spark_server: Connect, folder: str) -> None:
    results = run_files(find_files([SUITES / folder]), spark_server, Mode.STREAM, jobs=4)
    assert [line for result in results for line in failure_lines(result)] == []


@pytest.mark.parametrize("seed", range(int(os.environ.get("RISINGPY_RANDOM_SUITES", "2"))))
def test_random_suites_hold(server: Connect, postgresql: Connect, tmp_path: Path, seed: int) -> None:
    """PostgreSQL fills in what a random history's queries must give; SELECT and both kinds of view give it."""
    path = tmp_path / f"random_{seed}.slt"
    path.write_text(random_suite(seed))
    run_file(path, postgresql, Mode.ORACLE, update=True)
    for mode in (Mode.ORACLE, *OURS):
        result = run_file(path, postgresql if mode is Mode.ORACLE else server, mode)
        assert list(failure_lines(result)) == []
