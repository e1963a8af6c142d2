"""Compares the actual rows with the expected ones.

Expected rows are lines. Blanks separate the values, but a value may itself have blanks (a timestamp, say). So lines are
compared with normalized blanks. Only if a type R demands a comparison by value, a line is split, at the positions where
the actual row's values end.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation

from risingpy.sqllogictest.records import SortMode

NULL_TEXT = "NULL"
EMPTY_TEXT = "(empty)"
RELATIVE_TOLERANCE = 1e-9  # sums of doubles differ in their last digits with the order of the rows
ABSOLUTE_TOLERANCE = 1e-12  # such a sum may miss 0 by a little

Row = Sequence[str | None]

_HASHED = re.compile(r"(\d+) values hashing to ([0-9a-f]{32})\Z")


def value_text(value: str | None) -> str:
    """A value as a `.slt` file shows it."""
    if value is None:
        return NULL_TEXT
    return value.replace("\n", "\\n") if value else EMPTY_TEXT


def result_lines(rows: Sequence[Row], sort: SortMode, hash_threshold: int = 0) -> list[str]:
    """The lines of a file for these rows: a line per row, or for valuesort a line per value."""
    if sort is SortMode.VALUESORT:
        lines = sorted(value_text(value) for row in rows for value in row)
    else:
        lines = [" ".join(map(value_text, row)) for row in rows]
        if sort is SortMode.ROWSORT:
            lines.sort()
    count = sum(map(len, rows))
    if hash_threshold and count > hash_threshold:
        return [f"{count} values hashing to {_digest(rows, sort)}"]
    return lines


def rows_match(rows: Sequence[Row], expected: Sequence[str], types: str, sort: SortMode) -> bool:
    """True if the rows equal the expected lines under this sort."""
    if len(expected) == 1 and (hashed := _HASHED.match(expected[0].strip())):
        return int(hashed.group(1)) == sum(map(len, rows)) and hashed.group(2) == _digest(rows, sort)
    if sort is SortMode.VALUESORT:
        return _values_match(rows, expected)
    actual = [" ".join(map(value_text, row)) for row in rows]
    wanted = [_plain(line) for line in expected]
    if len(actual) != len(wanted):
        return False
    plain = list(map(_plain, actual))
    if plain == wanted or (sort is SortMode.ROWSORT and sorted(plain) == sorted(wanted)):
        return True
    if "R" not in types:
        return False
    if sort is SortMode.NOSORT:
        return all(_row_matches(row, line, types) for row, line in zip(rows, wanted, strict=True))
    return _matches_in_some_order(rows, wanted, types)


def _values_match(rows: Sequence[Row], expected: Sequence[str]) -> bool:
    actual = sorted(_plain(value_text(value)) for row in rows for value in row)
    lines = sorted(map(_plain, expected))
    return actual == lines or actual == sorted(word for line in lines for word in line.split(" "))


def _matches_in_some_order(rows: Sequence[Row], wanted: Sequence[str], types: str) -> bool:
    left = list(wanted)
    for row in rows:
        found = next((i for i, line in enumerate(left) if _row_matches(row, line, types)), None)
        if found is None:
            return False
        del left[found]
    return True


def _row_matches(row: Row, line: str, types: str) -> bool:
    words = line.split(" ")
    at = 0
    for position, value in enumerate(row):
        text = _plain(value_text(value))
        length = text.count(" ") + 1
        expected = " ".join(words[at : at + length])
        at += length
        by_value = position < len(types) and types[position] == "R"
        if text != expected and not (by_value and _close(text, expected)):
            return False
    return at == len(words)


def _close(left: str, right: str) -> bool:
    try:
        a, b = Decimal(left), Decimal(right)
    except InvalidOperation:
        return False
    if not (a.is_finite() and b.is_finite()):
        return str(a) == str(b)
    return a == b or math.isclose(a, b, rel_tol=RELATIVE_TOLERANCE, abs_tol=ABSOLUTE_TOLERANCE)


def _digest(rows: Sequence[Row], sort: SortMode) -> str:
    """MD5 over the values, each followed by a newline, as SQLite's sqllogictest defines it."""
    texts = [list(map(value_text, row)) for row in rows]
    if sort is SortMode.ROWSORT:
        texts.sort()
    values = [value for row in texts for value in row]
    if sort is SortMode.VALUESORT:
        values.sort()
    return hashlib.md5("".join(value + "\n" for value in values).encode(), usedforsecurity=False).hexdigest()


def _plain(line: str) -> str:
    return " ".join(line.split())
