"""Results as lines for a terminal: a line per file when it ends, then the failures and a summary."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from risingpy.sqllogictest.results import FileResult

MAX_FAILURES_SHOWN = 5  # of a file: later ones mostly follow from the first


def file_line(result: FileResult, done: int, total: int) -> str:
    """`[ 3/60] ok    batch  suites/dml/insert.slt  14 checked, 0.21 s`"""
    width = len(str(total))
    verdict = "ok  " if result.passed else "FAIL"
    skipped = f", {len(result.skips)} skipped" if result.skips else ""
    return (
        f"[{done:>{width}}/{total}] {verdict} {result.mode.value:<8} {result.path}  "
        f"{result.checked} checked{skipped}, {result.seconds:.2f} s"
    )


def failure_lines(result: FileResult) -> Iterator[str]:
    """What failed in a file, with SQL and diffs."""
    for failure in result.failures[:MAX_FAILURES_SHOWN]:
        yield f"{failure.location}: {failure.summary}"
        yield from (f"  {line}" for line in failure.detail.splitlines())
        yield ""
    hidden = len(result.failures) - MAX_FAILURES_SHOWN
    if hidden > 0:
        yield f"{result.path}: and {hidden} failures more"


def summary_line(results: Sequence[FileResult]) -> str:
    """`60 files: 58 ok, 2 failed; 1,204 answers checked, 17 skipped`"""
    failed = sum(not result.passed for result in results)
    checked = sum(result.checked for result in results)
    skipped = sum(len(result.skips) for result in results)
    return (
        f"{len(results)} files: {len(results) - failed} ok, {failed} failed; "
        f"{checked:,} answers checked, {skipped:,} skipped"
    )
