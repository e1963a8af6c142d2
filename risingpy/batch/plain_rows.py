"""Rows of constants, compiled: parameters → the rows as Python's values. Without Arrow.

    ConstantRows(nextval(t_id_seq), $1, now())   =>   PlainRows(a number, parameter 1, the time)

It gives what `constant_table` gives, in a tenth of the time. Numbers of sequences are taken last, when the rows are
written, since that may have to wait for the disk.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from risingpy.batch.moments import Clock, CurrentTime, GivesNumbers, NextNumber, of_moment, taken
from risingpy.batch.parameters import Parameters, constant, parameter_alone
from risingpy.batch.plan import ConstantRows
from risingpy.plan.expressions import Call, Cast, Expr, Literal, Parameter

_Cell = Callable[[Parameters], object]

Rows = list[list[object]]


class NotPlain(Exception):
    """Only the evaluator can compute a value, or raise its error."""


@dataclass(frozen=True, slots=True)
class PlainRows:
    """Rows whose values are constants, parameters, the time, and numbers of sequences."""

    _cells: tuple[tuple[_Cell, ...], ...]  # by row
    _numbers: tuple[tuple[int, tuple[tuple[int, Expr], ...]], ...]  # by column, the rows whose value is a number
    _times: tuple[tuple[int, int, CurrentTime], ...]  # (row, column, what is there)

    def values(self, parameters: Parameters, now: Clock) -> Rows:
        """The rows; None stands for what `take_numbers` will put there. Raises NotPlain."""
        rows = [[cell(parameters) for cell in row] for row in self._cells]
        if self._times:
            moment = now()
            for row, column, time in self._times:
                rows[row][column] = time.at(moment)
        return rows

    def columns(self, executions: Sequence[Parameters], numbers: GivesNumbers, now: Clock) -> list[list[object]]:
        """The rows of several executions, one after the other, as columns, with their numbers. Raises as both do.

        Two columns with numbers of one sequence are NotPlain: each execution would take its numbers together.
        """
        if len(self.wanted_numbers) < len(self._numbers):
            raise NotPlain
        of_columns = zip(*self._cells, strict=True)
        columns = [[cell(values) for values in executions for cell in cells] for cells in of_columns]
        moment, count = now(), len(self._cells)
        for row, column, time in self._times:
            columns[column][row::count] = [time.at(moment)] * len(executions)
        for column, places in self._numbers:
            wanted = [expr for _, expr in places] * len(executions)
            given = iter(taken(wanted, numbers))
            for first in range(0, len(executions) * count, count):
                for row, _ in places:
                    columns[column][first + row] = next(given)
        return columns

    def is_numbered(self, column: int) -> bool:
        """Whether a column has a number of a sequence in each row."""
        return any(column == at and len(places) == len(self._cells) for at, places in self._numbers)

    @property
    def wanted_numbers(self) -> list[tuple[int, int]]:
        """The sequences whose numbers the rows take, and how many."""
        wanted = [of_moment(expr) for _, places in self._numbers for _, expr in places]
        counts = Counter(each.oid for each in wanted if isinstance(each, NextNumber))
        return list(counts.items())

    def take_numbers(self, rows: Rows, numbers: GivesNumbers) -> None:
        """Puts the next numbers into the rows. Raises what nextval raises."""
        for column, places in self._numbers:
            for (row, _), number in zip(places, taken([expr for _, expr in places], numbers), strict=True):
                rows[row][column] = number


def plain_rows(plan: ConstantRows) -> PlainRows:
    """The rows of a plan, compiled."""
    moments = [[of_moment(expr) for expr in column] for column in plan.columns]
    cells = [
        [_cell(expr) if moment is None else _nothing for expr, moment in zip(column, of_column, strict=True)]
        for column, of_column in zip(plan.columns, moments, strict=True)
    ]
    numbers = []
    times = []
    for place, (column, of_column) in enumerate(zip(plan.columns, moments, strict=True)):
        pairs = zip(column, of_column, strict=True)
        found = tuple((row, expr) for row, (expr, moment) in enumerate(pairs) if isinstance(moment, NextNumber))
        if found:
            numbers.append((place, found))
        times += [(row, place, moment) for row, moment in enumerate(of_column) if isinstance(moment, CurrentTime)]
    return PlainRows(tuple(zip(*cells, strict=True)), tuple(numbers), tuple(times))


def _cell(expr: Expr) -> _Cell:
    place = parameter_alone(expr)
    if place is not None:
        return lambda parameters: parameters[place - 1]
    match expr:
        case Literal(value):
            return lambda parameters: value
        case Cast(Call("check_length", (Parameter(index), Literal(int(length)))), _):
            return _text_within(index, length)

    def computed(parameters: Parameters) -> object:
        found = constant(expr, parameters)
        if found is None:
            raise NotPlain
        return found.value

    return computed


def _text_within(index: int, length: int) -> _Cell:
    """A parameter for varchar(n): a text that is longer may lose blanks, or be refused."""

    def text(parameters: Parameters) -> object:
        value = parameters[index - 1]
        if value is not None and not (isinstance(value, str) and len(value) <= length):
            raise NotPlain
        return value

    return text


def _nothing(parameters: Parameters) -> object:
    return None
