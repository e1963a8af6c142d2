"""What a run prints for people, and writes for CI."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

from risingpy.sqllogictest.junit import write_junit
from risingpy.sqllogictest.modes import Mode
from risingpy.sqllogictest.records import Location
from risingpy.sqllogictest.report import failure_lines, file_line, summary_line
from risingpy.sqllogictest.results import Failure, FileResult, Skip

PATH = Path("suites/a.slt")
GOOD = FileResult(PATH, Mode.BATCH, 1200, (), (Skip(Location(PATH, 9), "no such view"),), 0.25)
BAD = FileResult(
    PATH, Mode.STREAM, 4, tuple(Failure(Location(PATH, line), "wrong", "a\x00b\n<c>") for line in range(1, 8)), (), 1.5
)


def test_a_line_per_file() -> None:
    assert file_line(GOOD, 3, 60) == "[ 3/60] ok   batch    suites/a.slt  1200 checked, 1 skipped, 0.25 s"
    assert file_line(BAD, 60, 60) == "[60/60] FAIL stream   suites/a.slt  4 checked, 1.50 s"


def test_later_failures_of_a_file_are_only_counted() -> None:
    lines = list(failure_lines(BAD))
    assert lines[:4] == ["suites/a.slt:1: wrong", "  a\x00b", "  <c>", ""]
    assert lines[-1] == "suites/a.slt: and 2 failures more"


def test_summary() -> None:
    assert summary_line([GOOD, BAD]) == "2 files: 1 ok, 1 failed; 1,204 answers checked, 1 skipped"


def test_junit(tmp_path: Path) -> None:
    path = tmp_path / "results.xml"
    write_junit([GOOD, BAD], path)
    root = ElementTree.parse(path).getroot()
    assert [(suite.get("name"), suite.get("failures")) for suite in root] == [("batch", "0"), ("stream", "1")]
    assert len(root.findall("./testsuite/testcase/failure")) == 7
    assert root.findtext("./testsuite/testcase/failure") == "a\ufffdb\n<c>"
    assert root.findtext("./testsuite/testcase/system-out") == "suites/a.slt:9: skipped: no such view"
