"""Texts that come again with other values, as clients of the simple protocol send them: planned once for all values.

    SELECT v FROM kv WHERE id = 7;   =>   SELECT v FROM kv WHERE id = $1;   with 7, an integer

To read and to plan such a text takes several times as long as to run it. But a constant may mean more than a parameter
does (`ORDER BY 1`, `date '2024-01-01'`), so a text is taken in this form only if its plan shows that each parameter is
the whole value of a key, or a value to insert (`PreparedQuery.takes_constants`), or one of a sum that UPDATE computes.
There both mean the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from risingpy.errors import SqlError
from risingpy.frontend.command import Command, Parameters
from risingpy.frontend.results import Prepared, Statement
from risingpy.types import BIGINT, INTEGER, VARCHAR, SqlType

LONGEST_TEXT = 2_000  # characters; to look for constants in longer texts would cost those that do not recur
MOST_TEXTS = 256  # that a session remembers; the oldest is forgotten first
TRIED_FROM = 2  # times that a text must have come, with any values, before it is planned for all of them

_LARGEST_INTEGER = 2**31 - 1
_OID_TO_BE_INFERRED = 0
_MARK = "$"  # for a constant; a text with marks of its own has more of them than constants, and is not taken
# A number or a string that nothing touches which may change its meaning: a prefix, a decimal point, another quote.
_CONSTANT = re.compile(r"(?<![\w.$'\"])(?:(?<=[=(,\s])-)?(\d{1,18})(?![\w.])|(?<![\w&'])'([^'\\\0]*)'(?!')", re.ASCII)
# No comments, quoted names, casts, or operators but those of a sum.
_PLAIN = re.compile(r"(?:[A-Za-z0-9_\s(),=;*.$+]|-(?!-))*", re.ASCII)

_Form = tuple[str, tuple[SqlType, ...]]
"""A text with marks for its constants, and their types; VARCHAR is for strings, whose type is yet unknown."""


@dataclass(frozen=True, slots=True)
class _Shared:
    """A text that was planned for all values. `version` is the one of the catalog and the settings it is for."""

    version: object
    prepared: Prepared


class RecurringTexts:
    """The texts of one session, for its own thread."""

    def __init__(
        self,
        parse: Callable[[str], Sequence[Statement]],
        bind: Callable[[Statement, Sequence[int]], Command],
        version: Callable[[], object],
    ) -> None:
        """`version`: while it is equal, so are the catalog and the settings."""
        self._parse = parse
        self._bind = bind
        self._version = version
        self._known: dict[_Form, _Shared | int] = {}  # a number: how often the text has come without being shared

    def find(self, text: str) -> tuple[Prepared, Parameters] | None:
        """The statement and its values, if the text is one that is planned for all values."""
        if len(text) > LONGEST_TEXT:
            return None
        form, values = _taken_apart(text)
        if not values:
            return None
        known, version = self._known.get(form, 0), self._version()
        if isinstance(known, _Shared):
            if known.version == version:
                return known.prepared, values
            known = TRIED_FROM - 1
        if known + 1 != TRIED_FROM:
            self._remember(form, known + 1)
            return None
        prepared = self._planned(form)
        self._remember(form, TRIED_FROM if prepared is None else _Shared(version, prepared))
        return None if prepared is None else (prepared, values)

    def known(self, text: str) -> tuple[Prepared, Parameters] | None:
        """As `find`, but only if the text is planned already: it plans nothing, and does not count."""
        if len(text) > LONGEST_TEXT:
            return None
        form, values = _taken_apart(text)
        known = self._known.get(form)
        if not values or not isinstance(known, _Shared) or known.version != self._version():
            return None
        return known.prepared, values

    def _remember(self, form: _Form, what: _Shared | int) -> None:
        if form not in self._known and len(self._known) >= MOST_TEXTS:
            del self._known[next(iter(self._known))]
        self._known[form] = what

    def _planned(self, form: _Form) -> Prepared | None:
        """The statement with parameters for its constants; None if that might mean something else."""
        marked, types = form
        if marked.count(_MARK) != len(types) or not _PLAIN.fullmatch(marked):
            return None
        pieces = marked.split(_MARK)
        numbered = "".join(f"{piece}${number}" for number, piece in enumerate(pieces[:-1], 1)) + pieces[-1]
        declared = tuple(_OID_TO_BE_INFERRED if type_ == VARCHAR else type_.oid for type_ in types)
        try:
            (statement,) = self._parse(numbered)
            command = self._bind(statement, declared)
        except (SqlError, ValueError):  # as it stands it may still be right, or has an error of its own to report
            return None
        if not command.takes_constants or command.parameter_types != types:
            return None
        return Prepared(types, command.fields, statement, declared)


def _taken_apart(text: str) -> tuple[_Form, list[object | None]]:
    """The text's form, and its constants."""
    pieces: list[str] = []
    types: list[SqlType] = []
    values: list[object | None] = []
    end = 0
    for found in _CONSTANT.finditer(text):
        pieces.append(text[end : found.start()])
        end = found.end()
        digits, string = found.groups()
        if digits is None:
            types.append(VARCHAR)
            values.append(string)
        else:
            number = int(digits)  # PostgreSQL, too, takes the type of a negative number from its digits
            types.append(INTEGER if number <= _LARGEST_INTEGER else BIGINT)
            values.append(-number if text[found.start()] == "-" else number)
    pieces.append(text[end:])
    return (_MARK.join(pieces), tuple(types)), values
