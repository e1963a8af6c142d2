"""Runs many files, several at a time. Files share nothing: each has its own schema and its own connections."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from risingpy.sqllogictest.client import Connect
from risingpy.sqllogictest.modes import Mode
from risingpy.sqllogictest.results import FileResult
from risingpy.sqllogictest.runner import run_file

SUITES = Path(__file__).parent / "suites"


def find_files(paths: Sequence[Path]) -> list[Path]:
    """The `.slt` files among and below these paths, in sorted order per path. Raises FileNotFoundError."""
    files: list[Path] = []
    for path in paths:
        found = sorted(path.rglob("*.slt")) if path.is_dir() else [path]
        if not found or not all(file.exists() for file in found):
            raise FileNotFoundError(f"{path}: no such file, or no .slt file below it")
        files.extend(found)
    return files


def run_files(
    paths: Sequence[Path],
    connect: Connect,
    mode: Mode,
    *,
    jobs: int = 1,
    update: bool = False,
    on_result: Callable[[FileResult], None] = lambda result: None,
) -> list[FileResult]:
    """Runs files and gives their results in the order of `paths`; `on_result` is called as each file ends."""
    with ThreadPoolExecutor(max_workers=jobs) as pool:
        futures = [pool.submit(run_file, path, connect, mode, update=update) for path in paths]
        try:
            for future in as_completed(futures):
                on_result(future.result())
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return [future.result() for future in futures]
