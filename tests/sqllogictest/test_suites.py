"""The suites that come with RisingPy expect PostgreSQL's answers, in every mode."""

from __future__ import annotations

from pathlib import Path

import pytest

from risingpy.sqllogictest.client import Connect
from risingpy.sqllogictest.jobs import SUITES, find_files, run_files
from risingpy.sqllogictest.modes import Mode
from risingpy.sqllogictest.report import failure_lines

MINIMUM_SUITES = 60
# What these expect is ours alone: PostgreSQL cannot play our part in them.
OURS = (
    *("streaming/change_log", "streaming/non_strict", "streaming/unsupported"),
    *("session/set_show", "session/session_functions", "show/"),
)


def suites() -> list[Path]:
    return find_files([SUITES])


def test_there_are_suites_by_feature() -> None:
    assert len(suites()) >= MINIMUM_SUITES
    assert {path.parent.parent for path in suites()} == {SUITES}


def test_postgresql_agrees_with_every_suite(postgresql: Connect) -> None:
    results = run_files(suites(), postgresql, Mode.ORACLE, jobs=4)
    assert [line for result in results for line in failure_lines(result)] == []
    assert sum(result.checked for result in results) > 1000


# A plain view that is made right before its query is read gives what the query gave: `make suites` has that mode too.
@pytest.mark.parametrize("mode", [Mode.STREAM, pytest.param(Mode.BACKFILL, marks=pytest.mark.slow)])
def test_suites_agree_with_themselves_when_views_answer(like_ours: Connect, mode: Mode) -> None:
    """PostgreSQL's plain views are always right: a suite that fails here asks a view what no view can know."""
    files = [path for path in suites() if not str(path.relative_to(SUITES)).startswith(OURS)]
    results = run_files(files, like_ours, mode, jobs=4)
    wrong_rows = [failure for result in results for failure in result.failures if failure.summary == "view: wrong rows"]
    assert wrong_rows == []
