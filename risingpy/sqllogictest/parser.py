"""Reads a `.slt` file into records.

Blocks are separated by blank lines; `#` begins a comment line between blocks. `include GLOB` stands for the
records of the files it names, relative to the including file, in sorted order.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from risingpy.sqllogictest.records import (
    AnyRecord,
    Condition,
    ExpectedError,
    Halt,
    HashThreshold,
    Lines,
    Location,
    QueryRecord,
    Retry,
    SetSortMode,
    SetSubstitution,
    Sleep,
    SortMode,
    StatementRecord,
    Subtest,
    System,
)

SEPARATOR = "----"
MAX_INCLUDE_DEPTH = 16  # deeper is a file that includes itself

_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m)\Z")
_SORTS = frozenset(sort.value for sort in SortMode)
_UNIT_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0}
_RETRY = re.compile(r"\s+retry\s+(\d+)\s+backoff\s+(\S+)\s*\Z")
_SQLSTATE = re.compile(r"\(([0-9A-Z]{5})\)\s*(.*)\Z", re.DOTALL)


class SltSyntaxError(Exception):
    """The file breaks the format; the message begins with file and line."""

    def __init__(self, location: Location, message: str) -> None:
        super().__init__(f"{location}: {message}")
        self.location = location


def parse_file(path: Path, depth: int = 0) -> list[AnyRecord]:
    """The records of a file and of all that it includes. Raises SltSyntaxError, OSError."""
    return _RecordParser(path, path.read_text(encoding="utf-8"), depth).records()


def parse_text(text: str, path: Path = Path("<text>")) -> list[AnyRecord]:
    """The records of a text; `path` is what locations name and includes are relative to."""
    return _RecordParser(path, text, 0).records()


def parse_duration(text: str) -> float | None:
    """Seconds of `500ms`, `2s`, `1m`; None if it is none of these."""
    match = _DURATION.match(text)
    return float(match.group(1)) * _UNIT_SECONDS[match.group(2)] if match else None


@dataclass
class _Prefix:
    """The lines above a record that modify it."""

    conditions: list[Condition] = field(default_factory=list)
    connection: str | None = None


class _RecordParser:
    def __init__(self, path: Path, text: str, depth: int) -> None:
        self._path = path
        self._lines = text.split("\n")
        if self._lines[-1] == "":
            self._lines.pop()
        self._at = 0
        self._depth = depth
        self._prefix = _Prefix()

    def records(self) -> list[AnyRecord]:
        records: list[AnyRecord] = []
        while self._at < len(self._lines):
            line = self._lines[self._at].rstrip()
            if not line or line.startswith("#"):
                self._at += 1
                continue
            records.extend(self._record(line))
        return records

    def _record(self, line: str) -> list[AnyRecord]:
        location = Location(self._path, self._at + 1)
        word, _, rest = line.partition(" ")
        rest = rest.strip()
        if word in ("statement", "query", "system"):
            return [self._block(word, rest, location)]
        self._at += 1
        match word:
            case "include":
                return self._include(rest, location)
            case "skipif" | "onlyif":
                self._prefix.conditions.append(Condition(self._one_word(rest, location), only=word == "onlyif"))
                return []
            case "connection":
                self._prefix.connection = self._one_word(rest, location)
                return []
        return [self._simple(word, rest, location)]

    def _simple(self, word: str, rest: str, location: Location) -> AnyRecord:
        prefix = self._take_prefix()
        match word:
            case "sleep":
                return Sleep(location, prefix, seconds=self._duration(rest, location))
            case "halt":
                return Halt(location, prefix)
            case "subtest":
                return Subtest(location, prefix, name=rest)
            case "hash-threshold":
                if not rest.isdigit():
                    raise SltSyntaxError(location, f"hash-threshold takes a number, not {rest!r}")
                return HashThreshold(location, prefix, values=int(rest))
            case "control":
                return self._control(rest.split(), prefix, location)
        raise SltSyntaxError(location, f"unknown record {word!r}")

    def _control(self, words: list[str], prefix: tuple[Condition, ...], location: Location) -> AnyRecord:
        match words:
            case ["sortmode", ("nosort" | "rowsort" | "valuesort") as sort]:
                return SetSortMode(location, prefix, sort=SortMode(sort))
            case ["substitution", ("on" | "off") as switch]:
                return SetSubstitution(location, prefix, on=switch == "on")
        raise SltSyntaxError(location, f"unknown control {' '.join(words)!r}")

    def _include(self, pattern: str, location: Location) -> list[AnyRecord]:
        if self._depth >= MAX_INCLUDE_DEPTH:
            raise SltSyntaxError(location, f"includes nest deeper than {MAX_INCLUDE_DEPTH}")
        conditions = self._take_prefix()
        if conditions:
            raise SltSyntaxError(location, "an include takes no skipif, onlyif or connection")
        paths = sorted(self._path.parent.glob(pattern))
        if not paths:
            raise SltSyntaxError(location, f"include {pattern!r} names no file")
        return [record for path in paths for record in parse_file(path, self._depth + 1)]

    def _block(self, word: str, rest: str, location: Location) -> AnyRecord:
        rest, retry = self._retry(rest, location)
        self._at += 1
        body = self._body(location)
        connection = self._prefix.connection
        conditions = self._take_prefix()
        if word == "statement":
            return self._statement(rest, body, retry, conditions, connection, location)
        if word == "query":
            return self._query(rest, body, retry, conditions, connection, location)
        if rest != "ok":
            raise SltSyntaxError(location, f"system takes 'ok', not {rest!r}")
        expected, _ = self._result()
        return System(location, conditions, connection, command=body, expected=expected, retry=retry)

    def _statement(
        self,
        rest: str,
        sql: str,
        retry: Retry | None,
        conditions: tuple[Condition, ...],
        connection: str | None,
        location: Location,
    ) -> StatementRecord:
        kind, _, argument = rest.partition(" ")
        error: ExpectedError | None = None
        count: int | None = None
        if kind == "error":
            error = self._expected_error(argument.strip(), location)
        elif kind == "count" and argument.strip().isdigit():
            count = int(argument)
        elif rest != "ok":
            raise SltSyntaxError(location, f"statement takes ok, error or count N, not {rest!r}")
        return StatementRecord(location, conditions, connection, sql=sql, error=error, count=count, retry=retry)

    def _query(
        self,
        rest: str,
        sql: str,
        retry: Retry | None,
        conditions: tuple[Condition, ...],
        connection: str | None,
        location: Location,
    ) -> QueryRecord:
        kind, _, argument = rest.partition(" ")
        if kind == "error":
            error = self._expected_error(argument.strip(), location)
            return QueryRecord(location, conditions, connection, sql=sql, error=error, retry=retry)
        sort: SortMode | None = None
        label: str | None = None
        for word in argument.split():
            if word in _SORTS:
                sort = SortMode(word)
            elif label is None:
                label = word
            else:
                raise SltSyntaxError(location, f"query has a second label {word!r}")
        expected, lines = self._result()
        return QueryRecord(
            location, conditions, connection,
            sql=sql, types=kind, sort=sort, label=label, expected=expected or (), lines=lines, retry=retry,
        )  # fmt: skip

    def _expected_error(self, argument: str, location: Location) -> ExpectedError:
        text = self._error_text()
        if argument and text is not None:
            raise SltSyntaxError(location, "an error is given by a pattern or by its text, not both")
        match = _SQLSTATE.match(argument)
        sqlstate, pattern = (match.group(1), match.group(2)) if match else (None, argument)
        try:
            re.compile(pattern)
        except re.error as error:
            raise SltSyntaxError(location, f"bad regular expression {pattern!r}: {error}") from error
        return ExpectedError(sqlstate=sqlstate, pattern=pattern or None, text=text)

    def _body(self, location: Location) -> str:
        """The lines up to a blank one or the separator; leaves the separator to be read."""
        start = self._at
        while self._at < len(self._lines) and self._lines[self._at].strip() not in ("", SEPARATOR):
            self._at += 1
        body = "\n".join(self._lines[start : self._at])
        if not body:
            raise SltSyntaxError(location, "the record has no text")
        return body

    def _at_separator(self) -> bool:
        return self._at < len(self._lines) and self._lines[self._at].strip() == SEPARATOR

    def _result(self) -> tuple[tuple[str, ...] | None, Lines | None]:
        """The lines after the separator, up to a blank one."""
        if not self._at_separator():
            return None, None
        self._at += 1
        start = self._at
        while self._at < len(self._lines) and self._lines[self._at].strip():
            self._at += 1
        return tuple(self._lines[start : self._at]), Lines(start + 1, self._at)

    def _error_text(self) -> str | None:
        """The lines after the separator, up to two blank ones: an error's text may hold a blank line."""
        if not self._at_separator():
            return None
        self._at += 1
        start = self._at
        while self._at < len(self._lines) and any(line.strip() for line in self._lines[self._at : self._at + 2]):
            self._at += 1
        return "\n".join(self._lines[start : self._at]).strip()

    def _retry(self, rest: str, location: Location) -> tuple[str, Retry | None]:
        match = _RETRY.search(" " + rest)
        if match is None:
            return rest, None
        retry = Retry(int(match.group(1)), self._duration(match.group(2), location))
        return (" " + rest)[: match.start()].strip(), retry

    def _duration(self, text: str, location: Location) -> float:
        seconds = parse_duration(text)
        if seconds is None:
            raise SltSyntaxError(location, f"not a duration: {text!r} (500ms, 2s, 1m)")
        return seconds

    def _one_word(self, text: str, location: Location) -> str:
        word = text.split("#")[0].strip()
        if not word or " " in word:
            raise SltSyntaxError(location, f"one word is wanted, not {text!r}")
        return word

    def _take_prefix(self) -> tuple[Condition, ...]:
        prefix, self._prefix = self._prefix, _Prefix()
        return tuple(prefix.conditions)
