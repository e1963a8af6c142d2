"""INSERTs of very many constant rows in one text, as drivers make them (`execute_values`, mysqldump, ORMs).

    INSERT INTO t VALUES (1, 'x'), (2, 'y'), …   =>   INSERT INTO t VALUES ($1, $2)   with 1, 2, … and x, y, …

A tree for each constant takes far longer than all else. So the text is cut by two regular expressions, one that tells
that it is nothing else, and one that finds the constants. They are read by column, as texts of the columns' types: that
is what they mean in VALUES, as long as a number stands in a column of numbers. Whatever is unusual, and each text with
a value that no column takes, is left to the parser, which knows where in the text an error is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from risingpy.errors import QueryCanceled, SqlError, StalePlan
from risingpy.frontend.command import Command
from risingpy.frontend.parser.ast import ParsedStatement
from risingpy.frontend.results import Result
from risingpy.frontend.session.commands import Commands
from risingpy.frontend.session.recurring_texts import LONGEST_TEXT
from risingpy.frontend.session.statement_clock import StatementClock
from risingpy.frontend.transaction import TransactionStatus
from risingpy.types import SqlType, TypeKind
from risingpy.types.far_moments import values_of
from risingpy.types.forms import parse_column
from risingpy.types.system_types import names_objects

if TYPE_CHECKING:
    from risingpy.frontend.session.context import SessionContext

_LARGEST_TEXT = 1 << 24  # characters: nobody can cancel what the expressions do
_HEAD = re.compile(r"\s*+INSERT\s++INTO\s++[\w\s.,\"()]*?\bVALUES\s*+(?=\()", re.IGNORECASE | re.ASCII)
# A number, a text perhaps with a cast to a type of one word, or a word.
_CELL = r"(?:-?+\d++(?:\.\d++)?+|'[^']*+(?:''[^']*+)*+'(?:::[a-z]++)?+|NULL|TRUE|FALSE)"
_CELLS = re.compile(
    r"(-?+\d++(\.\d++)?+)|'([^']*+(?:''[^']*+)*+)'(?:::([a-z]++))?+|(NULL)|(TRUE|FALSE)", re.IGNORECASE | re.ASCII
)
_FIRST_CELL = re.compile(rf"\s*+{_CELL}\s*+[,)]", re.IGNORECASE | re.ASCII)
_INTEGERS = (TypeKind.SMALLINT, TypeKind.INTEGER, TypeKind.BIGINT)
_DECIMALS = (TypeKind.NUMERIC, TypeKind.REAL, TypeKind.DOUBLE)
_CASTS = {
    "timestamp": TypeKind.TIMESTAMP,
    "timestamptz": TypeKind.TIMESTAMPTZ,
    "date": TypeKind.DATE,
    "time": TypeKind.TIME,
    "uuid": TypeKind.UUID,
    "bytea": TypeKind.BYTEA,
    "text": TypeKind.VARCHAR,
}

_Cell = tuple[str, str, str, str, str, str]
"""Number, its decimals, text, the name of its cast, NULL, a boolean: what of it there is."""


@dataclass(frozen=True, slots=True)
class _Cut:
    """A text as a statement for one row, and the cells of all rows by column."""

    statement: str
    columns: Sequence[Sequence[_Cell]]


class LongInserts:
    """Of one session."""

    def __init__(self, context: SessionContext, commands: Commands, clock: StatementClock) -> None:
        self._context = context
        self._commands = commands
        self._clock = clock

    def run(self, text: str) -> Result | None:
        """Runs a text that is such an INSERT. None: it is another one, or has an error, and nothing was done."""
        if not LONGEST_TEXT < len(text) <= _LARGEST_TEXT:
            return None
        context = self._context
        with context.phase():
            cut = _cut(text)
        if cut is None:
            return None
        try:
            (statement,) = context.split(cut.statement)
            command = context.bind(statement, ())
            with context.phase():
                rows = _rows(command, cut.columns, context.settings.get("timezone"))
        except QueryCanceled:
            raise
        except (SqlError, ValueError, pa.ArrowException):  # the parser finds it again, and where it is
            return None
        if rows is None or command.inserts is None or context.transaction.status is TransactionStatus.FAILED:
            return None
        assert isinstance(statement, ParsedStatement)
        shown = replace(statement, text=text)
        self._clock.text_came(text)
        context.record.work(text)
        self._clock.runs(shown)
        try:
            with context.phase():
                context.scope.begin_statement(context.database, commits_so_far=False, changes_schema=False)
                context.demands.begin(command.demands)
                return command.inserts.run_rows(rows)
        except StalePlan:
            return None
        finally:
            context.end_statement()


def _cut(text: str) -> _Cut | None:
    head = _HEAD.match(text)
    width = None if head is None else _width(text, head.end() + 1)
    if head is None or width is None:
        return None
    row = rf"\(\s*+{_CELL}(?:\s*+,\s*+{_CELL}){{{width - 1}}}\s*+\)"
    rows = re.compile(rf"{row}(?:\s*+,\s*+{row})*+\s*+;?+\s*+", re.IGNORECASE | re.ASCII)
    if rows.fullmatch(text, head.end()) is None:
        return None
    cells: list[_Cell] = _CELLS.findall(text, head.end())
    marks = ", ".join(f"${number}" for number in range(1, width + 1))
    return _Cut(f"{head.group()}({marks})", [cells[place::width] for place in range(width)])


def _width(text: str, at: int) -> int | None:
    """How many cells the row has that begins there; None if they are not all plain."""
    width, last = 0, ""
    while last != ")":
        found = _FIRST_CELL.match(text, at)
        if found is None:
            return None
        at, width = found.end(), width + 1
        last = text[at - 1]
    return width


def _rows(command: Command, columns: Sequence[Sequence[_Cell]], time_zone: str) -> list[Sequence[object | None]] | None:
    """The values of each row; None if a constant means something else than its text as a value of the column.

    Raises what `parse_column` raises.
    """
    if not command.takes_constants or len(command.parameter_types) != len(columns) or command.inserts is None:
        return None
    values = []
    for type_, cells in zip(command.parameter_types, columns, strict=True):
        texts = _texts(type_, cells)
        if texts is None:
            return None
        values.append(_values(type_, texts, time_zone))
    return list(zip(*values, strict=True))


def _texts(type_: SqlType, cells: Sequence[_Cell]) -> list[str | None] | None:
    """The texts of constants that stand for themselves in a column of this type."""
    numbers, decimals, texts, casts, nulls, booleans = map(list, zip(*cells, strict=True))
    has_numbers = any(numbers)
    is_of_numbers = type_.kind in _DECIMALS or (type_.kind in _INTEGERS and not any(decimals))
    if names_objects(type_) or type_.system or (has_numbers and not is_of_numbers):
        return None
    if any(booleans) and type_.kind is not TypeKind.BOOLEAN:
        return None
    if any(casts) and (
        type_.length is not None or any(each and _CASTS.get(each.lower()) is not type_.kind for each in casts)
    ):
        return None
    if has_numbers and all(numbers):
        return list(numbers)
    if any(nulls) or any(booleans) or has_numbers:
        return [None if n else number or boolean or text.replace("''", "'") for number, _, text, _, n, boolean in cells]
    return [text.replace("''", "'") for text in texts]


def _values(type_: SqlType, texts: list[str | None], time_zone: str) -> Sequence[object | None]:
    if type_.kind is TypeKind.VARCHAR and type_.length is None:
        return texts
    array = parse_column(type_, pa.array(texts, pa.string()), time_zone=time_zone)
    values: list[object | None] = values_of(array)
    return values
