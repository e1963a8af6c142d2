"""The rows of VALUES after the first, where all are parameters like those of the first: `($1, $2), ($3, $4), …`.

The first row has trees, the others are one text. A cell of another row has the form of the first row's cell, with
another number, unless the client has declared another type for its parameter (drivers send small integers as int2).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from sqlglot import exp

from risingpy.frontend.binder.scope.context import BindContext
from risingpy.frontend.binder.trees import position_of
from risingpy.frontend.parser.dialect import MORE_ROWS
from risingpy.frontend.parser.literals.literal_list import parameters_of
from risingpy.plan.expression_trees import transform, walk
from risingpy.plan.expressions import Cast, Expr, Parameter
from risingpy.types import SqlType, TypeKind


def rows_of(tree: exp.Values) -> list[exp.Expr]:
    """All rows of VALUES as trees."""
    rows = list(tree.expressions)
    if MORE_ROWS in tree.meta:
        cells = _cells(rows[0])
        for numbers in _numbers(tree, len(cells)):
            cells_of_row = [_numbered(cell, number) for cell, number in zip(cells, numbers, strict=True)]
            rows.append(exp.Tuple(expressions=cells_of_row))
    return rows


def bound_rows(
    context: BindContext, tree: exp.Values, bind: Callable[[exp.Expr, int], Expr]
) -> Iterator[tuple[Expr, ...]]:
    """The rows after the first. `bind` gives the value of a cell's tree, as it stands in the column of that place.

    It is called once for each column and type of a parameter there.
    """
    if MORE_ROWS not in tree.meta:
        return
    cells = _cells(tree.expressions[0])
    positions = [position_of(_parameter(cell)) for cell in cells]
    forms: list[dict[SqlType, Expr]] = [{} for _ in cells]
    newest: list[tuple[SqlType | None, Expr | None]] = [(None, None)] * len(cells)  # types are slow to hash
    parameters = context.parameters
    for numbers in _numbers(tree, len(cells)):
        row = []
        for place, number in enumerate(numbers):
            type_ = parameters.type_of(number, positions[place])
            known, form = newest[place]
            if type_ is not known:
                form = forms[place].get(type_)
            if form is None:
                form = forms[place][type_] = bind(_numbered(cells[place], number), place)
            elif type_.kind is TypeKind.UNKNOWN:  # the column decides, as it did for the first of this form
                parameters.determine(number, _parameter_of(form).type, positions[place])
            newest[place] = (type_, form)
            row.append(_with_number(form, number))
        yield tuple(row)


def _cells(row: exp.Expr) -> Sequence[exp.Expr]:
    return row.expressions if isinstance(row, exp.Tuple) else [row]


def _numbers(tree: exp.Values, width: int) -> Iterator[list[int]]:
    numbers = parameters_of(str(tree.meta[MORE_ROWS]))
    return (numbers[start : start + width] for start in range(0, len(numbers), width))


def _parameter(cell: exp.Expr) -> exp.Expr:
    found = cell.find(exp.Parameter)
    assert found is not None
    return found


def _numbered(cell: exp.Expr, number: int) -> exp.Expr:
    """The cell with another parameter."""
    copied = cell.copy()
    _parameter(copied).set("this", exp.Literal.number(number))
    return copied


def _parameter_of(form: Expr) -> Parameter:
    return next(part for part in walk(form) if isinstance(part, Parameter))


def _with_number(form: Expr, number: int) -> Expr:
    """The expression with another parameter of the same type; most have one of the first two forms."""
    match form:
        case Parameter(_, type_):
            return Parameter(number, type_)
        case Cast(Parameter(_, given), type_, safe):
            return Cast(Parameter(number, given), type_, safe)
    return transform(form, lambda part: Parameter(number, part.type) if isinstance(part, Parameter) else None)
