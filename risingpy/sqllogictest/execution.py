"""One pass over a file's records, in its own schema.

The meaning of a `query` depends on the mode, so a pass gets its `Answers`. All else is the same in all modes.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol, assert_never

from risingpy.sqllogictest.client import Answer, Client, Connect, StatementRefused
from risingpy.sqllogictest.compare import result_lines, rows_match
from risingpy.sqllogictest.diff import render_diff, render_sql
from risingpy.sqllogictest.records import (
    AnyRecord,
    ExpectedError,
    Halt,
    HashThreshold,
    QueryRecord,
    Record,
    Retry,
    SetSortMode,
    SetSubstitution,
    Sleep,
    SortMode,
    StatementRecord,
    Subtest,
    System,
)
from risingpy.sqllogictest.results import Failure, Skip
from risingpy.sqllogictest.substitution import UnknownVariable, substitute

SYSTEM_TIMEOUT_SECONDS = 120
MAIN_CONNECTION = "default"


class Answers(Protocol):
    """How a mode answers queries, and what it does around statements."""

    def query(self, execution: Execution, index: int, record: QueryRecord) -> Failure | None:
        """Answers one query and compares."""
        ...

    def after_statement(self, execution: Execution, index: int, record: StatementRecord) -> None:
        """Called when a statement that should succeed has succeeded."""
        ...


class Untranslatable(Exception):
    """The statement has no counterpart in the database under test; the message says why."""


class Translate(Protocol):
    """What rewrites a record's statement for a database that speaks another dialect."""

    def __call__(self, sql: str) -> str | None:
        """The statement for the database under test; None to run nothing. Raises Untranslatable."""
        ...


@dataclass
class Execution:
    """A pass. `run` it once; then read `failures`, `skips`, `checked` and `rewrites`."""

    connect: Connect
    schema: str
    labels: frozenset[str]
    answers: Answers
    translate: Translate
    failures: list[Failure] = field(default_factory=list)
    skips: list[Skip] = field(default_factory=list)
    checked: int = 0
    rewrites: dict[QueryRecord, list[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._clients: dict[str, Client] = {}
        self._sort = SortMode.NOSORT
        self._threshold = 0
        self._substitution = False
        self._variables: dict[str, str] = {}

    def run(self, records: Sequence[AnyRecord]) -> None:
        """Runs the records in order; a connection that cannot be opened ends the pass."""
        with tempfile.TemporaryDirectory(prefix="risingpy-slt-") as directory:
            self._variables = {**os.environ, "__TEST_DIR__": directory, "__SCHEMA__": self.schema}
            try:
                self._open(MAIN_CONNECTION, f"CREATE SCHEMA {self.schema}")
                for index, record in enumerate(records):
                    if isinstance(record, Halt) and record.runs_under(self.labels):
                        break
                    self._record(index, record)
            except _ConnectionFailed as error:
                self.failures.append(Failure(records[0].location, "cannot connect", str(error)))
            finally:
                self._leave(records)

    def client(self, record: Record) -> Client:
        """The connection that the record names, opened at its first use."""
        name = record.connection or MAIN_CONNECTION
        return self._clients.get(name) or self._open(name)

    def ask(self, record: Record, sql: str) -> Answer | None:
        """Runs SQL on the record's connection; None if there was nothing to run.

        Raises StatementFailed, Untranslatable, UnknownVariable.
        """
        translated = self.translate(self.text(sql))
        if translated is None:
            return None
        client = self.client(record)
        try:
            return client.run(translated)
        except StatementRefused as error:
            if error.fatal:
                client.close()
                self._clients.pop(record.connection or MAIN_CONNECTION, None)
            raise

    def text(self, text: str) -> str:
        """The text with its variables replaced, if the file asks for that."""
        return substitute(text, self._variables) if self._substitution else text

    def sort_of(self, record: QueryRecord) -> SortMode:
        return record.sort or self._sort

    def compare(self, record: QueryRecord, answer: Answer, sort: SortMode, who: str) -> Failure | None:
        """Compares rows with the record's; `who` names the answer in a failure ("SELECT", "view")."""
        self.checked += 1
        if len(record.types) != len(answer.columns):
            detail = f"{render_sql(record.sql)}\n{len(record.types)} types, but columns {', '.join(answer.columns)}"
            return Failure(record.location, f"{who}: {len(answer.columns)} columns came", detail)
        expected = [self.text(line) for line in record.expected]
        self.rewrites.pop(record, None)
        types = "".join("T" if i in answer.exact else type_ for i, type_ in enumerate(record.types))
        if rows_match(answer.rows, expected, types, sort):
            return None
        came = result_lines(answer.rows, sort, self._threshold)
        if sort is self.sort_of(record):
            self.rewrites[record] = came
        shown = sorted(expected) if sort is not SortMode.NOSORT else expected
        return Failure(record.location, f"{who}: wrong rows", f"{render_sql(record.sql)}\n{render_diff(shown, came)}")

    def _record(self, index: int, record: AnyRecord) -> None:
        if not record.runs_under(self.labels):
            return
        match record:
            case StatementRecord() | QueryRecord() | System():
                failure = self._with_retries(index, record, record.retry)
                if failure is not None:
                    self.failures.append(failure)
                elif isinstance(record, StatementRecord) and record.error is None:
                    self.answers.after_statement(self, index, record)
            case Sleep():
                time.sleep(record.seconds)
            case HashThreshold():
                self._threshold = record.values
            case SetSortMode():
                self._sort = record.sort
            case SetSubstitution():
                self._substitution = record.on
            case Subtest() | Halt():
                pass
            case _:
                assert_never(record)

    def _with_retries(
        self, index: int, record: StatementRecord | QueryRecord | System, retry: Retry | None
    ) -> Failure | None:
        failure = self._attempt(index, record)
        for _ in range(retry.times if retry else 0):
            if failure is None:
                break
            assert retry is not None
            time.sleep(retry.backoff)
            failure = self._attempt(index, record)
        return failure

    def _attempt(self, index: int, record: StatementRecord | QueryRecord | System) -> Failure | None:
        try:
            match record:
                case StatementRecord():
                    return self._statement(record)
                case QueryRecord(error=None):
                    return self.answers.query(self, index, record)
                case QueryRecord():
                    assert record.error is not None
                    return self._must_fail(record, record.sql, record.error)
                case System():
                    return self._system(record)
        except StatementRefused as error:
            return Failure(record.location, "failed", f"{render_sql(_sql(record))}\n{_error_text(error)}")
        except UnknownVariable as error:
            return Failure(record.location, str(error), render_sql(_sql(record)))
        except Untranslatable as error:
            self.skips.append(Skip(record.location, str(error)))
            return None

    def _statement(self, record: StatementRecord) -> Failure | None:
        if record.error is not None:
            return self._must_fail(record, record.sql, record.error)
        answer = self.ask(record, record.sql)
        self.checked += 1
        if record.count is not None and answer is not None and answer.count != record.count:
            summary = f"{record.count} rows expected, {answer.count} counted"
            return Failure(record.location, summary, render_sql(record.sql))
        return None

    def _must_fail(self, record: StatementRecord | QueryRecord, sql: str, expected: ExpectedError) -> Failure | None:
        try:
            answer = self.ask(record, sql)
        except StatementRefused as error:
            self.checked += 1
            if _error_matches(error, expected):
                return None
            detail = f"{render_sql(sql)}\nexpected: {_expectation(expected)}\ncame:     {_error_text(error)}"
            return Failure(record.location, "another error came", detail)
        if answer is None:
            return None
        self.checked += 1
        return Failure(
            record.location, "an error was expected", f"{render_sql(sql)}\nexpected: {_expectation(expected)}"
        )

    def _system(self, record: System) -> Failure | None:
        self.checked += 1
        command = self.text(record.command)
        run = subprocess.run(
            ["bash", "-c", command], capture_output=True, text=True, timeout=SYSTEM_TIMEOUT_SECONDS, check=False
        )
        if run.returncode != 0:
            detail = f"{render_sql(command)}\nexit code {run.returncode}\n{run.stdout}{run.stderr}"
            return Failure(record.location, "command failed", detail)
        came = run.stdout.rstrip().splitlines()
        if record.expected is not None and came != [self.text(line) for line in record.expected]:
            return Failure(record.location, "another output came", render_diff(record.expected, came))
        return None

    def _open(self, name: str, *before: str) -> Client:
        try:
            client = self.connect()
            for sql in (*before, f"SET search_path TO {self.schema}"):
                client.run(sql)
        except StatementRefused as error:
            raise _ConnectionFailed(_error_text(error)) from error
        self._clients[name] = client
        return client

    def _leave(self, records: Sequence[AnyRecord]) -> None:
        """Closes what is open (an open transaction may hold locks), then drops the schema from a new connection."""
        for client in self._clients.values():
            client.close()
        if not self._clients:
            return
        try:
            client = self.connect()
            try:
                client.run(f"DROP SCHEMA {self.schema} CASCADE")
            finally:
                client.close()
        except StatementRefused as error:
            failure = Failure(records[-1].location, "the file's schema cannot be dropped", _error_text(error))
            self.failures.append(failure)


class _ConnectionFailed(Exception):
    pass


def _sql(record: StatementRecord | QueryRecord | System) -> str:
    return record.command if isinstance(record, System) else record.sql


def _error_text(error: StatementRefused) -> str:
    return f"({error.sqlstate}) {error.text}" if error.sqlstate else error.text


def _expectation(expected: ExpectedError) -> str:
    parts = [f"({expected.sqlstate})" if expected.sqlstate else "", expected.pattern or expected.text or ""]
    return " ".join(part for part in parts if part) or "any error"


def _error_matches(error: StatementRefused, expected: ExpectedError) -> bool:
    if expected.sqlstate is not None and error.sqlstate != expected.sqlstate:
        return False
    if expected.pattern is not None and re.search(expected.pattern, error.text) is None:
        return False
    return expected.text is None or " ".join(expected.text.split()) in (
        " ".join(error.message.split()),
        " ".join(error.text.split()),
    )
