"""Runs one file in one mode. The library's door; `jobs.run_files` runs many."""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Sequence
from pathlib import Path

from risingpy.sqllogictest.answers import BackfillAnswers, SelectAnswers, StreamAnswers
from risingpy.sqllogictest.client import Connect
from risingpy.sqllogictest.execution import Answers, Execution, Translate
from risingpy.sqllogictest.lineage import creation_points
from risingpy.sqllogictest.modes import Mode
from risingpy.sqllogictest.oracle_sql import to_postgresql
from risingpy.sqllogictest.parser import SltSyntaxError, parse_file
from risingpy.sqllogictest.records import AnyRecord, Location
from risingpy.sqllogictest.results import Failure, FileResult, Skip
from risingpy.sqllogictest.update import rewrite

MAX_SCHEMA_STEM = 32  # a name must stay within PostgreSQL's 63 bytes


def run_file(path: Path, connect: Connect, mode: Mode, *, update: bool = False) -> FileResult:
    """Runs a file and reports. A file that cannot be read is a failure of that file, not an exception.

    `connect` opens connections to the database under test: PostgreSQL for Mode.ORACLE. With `update`, expected
    rows that a plain SELECT does not give are rewritten in the file.
    """
    started = time.monotonic()
    try:
        records = parse_file(path)
    except (SltSyntaxError, OSError, UnicodeDecodeError) as error:
        location = error.location if isinstance(error, SltSyntaxError) else Location(path, 1)
        failure = Failure(location, "cannot read the file", str(error))
        return FileResult(path, mode, 0, (failure,), (), time.monotonic() - started)
    passes = _run_passes(path, records, connect, mode) if records else []
    if update:
        rewrite(change for execution in passes[:1] for change in execution.rewrites.items())
    return FileResult(
        path,
        mode,
        checked=sum(execution.checked for execution in passes),
        failures=tuple(failure for execution in passes for failure in execution.failures),
        skips=tuple(skip for execution in passes for skip in execution.skips),
        seconds=time.monotonic() - started,
    )


def _run_passes(path: Path, records: Sequence[AnyRecord], connect: Connect, mode: Mode) -> list[Execution]:
    match mode:
        case Mode.BATCH | Mode.ORACLE:
            return [_run(path, records, connect, mode, SelectAnswers())]
        case Mode.BACKFILL:
            return [_run(path, records, connect, mode, BackfillAnswers())]
        case Mode.STREAM:
            select = SelectAnswers()
            first = _run(path, records, connect, mode, select)
            points, homeless = creation_points(records, select.view_queries, mode.labels)
            first.skips.extend(Skip(query.location, "no relation of the file to stream from") for query in homeless)
            return [first, _run(path, records, connect, mode, StreamAnswers(points))] if points else [first]


def _run(path: Path, records: Sequence[AnyRecord], connect: Connect, mode: Mode, answers: Answers) -> Execution:
    translate: Translate = to_postgresql if mode is Mode.ORACLE else _as_it_stands
    execution = Execution(connect, _schema_name(path), mode.labels, answers, translate)
    execution.run(records)
    return execution


def _as_it_stands(sql: str) -> str | None:
    return sql


def _schema_name(path: Path) -> str:
    """A name that no other file, run or process uses at the same time."""
    stem = re.sub(r"\W", "_", path.name.split(".")[0].lower())[:MAX_SCHEMA_STEM]
    return f"slt_{stem}_{secrets.token_hex(6)}"
