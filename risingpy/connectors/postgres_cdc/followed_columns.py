"""Columns that are added and dropped upstream, for copies that follow them (`auto.schema.change`).

PostgreSQL says nothing of an alteration in its stream but the columns of the rows after it. So the catalog says what a
copy is to become, and the copy is altered before it takes the first of these rows. It may be altered earlier, too: rows
that come in the older form then get, in a new column, the constant that PostgreSQL shows in rows from before the
column (pg_attribute.attmissingval). So a crash at any moment needs no memory but the copy's shape in the catalog.

The shape keeps columns that were dropped: rows that come in the older form have them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa

from risingpy.connectors.postgres_cdc.table_shapes import ShapeColumn, TableShape, shape_text
from risingpy.connectors.postgres_cdc.upstream import type_of
from risingpy.connectors.pushed import AddedColumn, AlteredOriginal, PushedTable
from risingpy.types.far_moments import value_of
from risingpy.types.forms import parse_rows

SentColumn = tuple[str, int, int]


def alteration(
    table: PushedTable, numbers: Sequence[int], created: TableShape, now: TableShape, file: int
) -> AlteredOriginal | str | None:
    """What the copy has to become now; or why it cannot; None if it has the columns that the table has.

    `file` was the table's file when it had the columns of `created`: values of existing rows come in no message, so
    they are known only if PostgreSQL did not write the rows anew.
    """
    known = {column.number for column in created.columns}
    current = {column.number for column in now.columns}
    new = [column for column in now.columns if column.number not in known]
    for column in new:
        if column.number <= created.highest:
            return f'column "{column.name}" is no longer a generated one upstream'
        if column.missing is None and now.file != file:
            return f'the table was rewritten upstream when column "{column.name}" was added: its values did not come'
    highest = max([created.highest, *(column.number for column in new)])
    if any(number not in current for number in range(created.highest + 1, highest)):
        return f'table "{now.name}" was altered upstream more than once meanwhile'
    dropped = tuple(column.name for column, number in zip(table.columns, numbers, strict=True) if number not in current)
    if not new and not dropped:
        return None
    added = []
    for column in new:
        made = _added(column)
        if isinstance(made, str):
            return made
        added.append(made)
    columns = (*created.columns, *(replace(column, is_added=True) for column in new))
    shape = replace(created, columns=columns, file=now.file, highest=highest)
    return AlteredOriginal(table.table_id, table.shape, shape_text(shape), dropped, tuple(added))


def numbers_sent(
    created: TableShape, known: TableShape, now: TableShape, sent: Sequence[SentColumn]
) -> tuple[int, ...] | None:
    """The numbers of the columns of the stream's tuples, below 0 for those that nobody has; None without certainty.

    The tuples are of some moment from `known` on, which the stream has told last, until `now`. `created` has every
    column that the copy has had. So each column is called as in one of the three, and their order never changes.
    """
    forms: dict[int, set[SentColumn]] = {}
    for shape in (created, known, now):
        for column in shape.columns:
            if column.number > 0:
                forms.setdefault(column.number, set()).add(column.sent)
    order = sorted(forms)
    current = {column.number for column in now.columns}
    old = {column.number for column in created.columns if not column.is_added}
    found = _only_assignment([(number, forms[number], number in current & old) for number in order], sent)
    if found is not None:
        return found
    # Columns that came after all of these and went again. While there is one, the others that are there now are, too.
    for count in range(1, min(len(sent), now.highest - created.highest) + 1):
        rest = sent[: len(sent) - count]
        found = _only_assignment([(number, forms[number], number in current) for number in order], rest)
        if found is not None:
            return (*found, *range(-1, -count - 1, -1))
    return None


def _only_assignment(
    columns: Sequence[tuple[int, set[SentColumn], bool]], sent: Sequence[SentColumn]
) -> tuple[int, ...] | None:
    """The numbers of what is sent, in order, if exactly one choice fits. A column: (number, its forms, must be there).

    `ways[j][s]` counts the choices for columns from j on, if s of those before were left out: 0, 1, or more.
    """
    left_out = len(columns) - len(sent)
    if left_out < 0:
        return None
    ways = [[0] * (left_out + 2) for _ in range(len(columns) + 1)]
    ways[len(columns)][left_out] = 1
    for j in range(len(columns) - 1, -1, -1):
        _, forms, is_needed = columns[j]
        for s in range(max(0, j - len(sent)), min(j, left_out) + 1):
            skips = 0 if is_needed else ways[j + 1][s + 1]
            takes = ways[j + 1][s] if j - s < len(sent) and sent[j - s] in forms else 0
            ways[j][s] = min(skips + takes, 2)
    if ways[0][0] != 1:
        return None
    numbers, s = [], 0
    for j, (number, forms, _) in enumerate(columns):
        if j - s < len(sent) and sent[j - s] in forms and ways[j + 1][s]:
            numbers.append(number)
        else:
            s += 1
    return tuple(numbers)


def _added(column: ShapeColumn) -> AddedColumn | str:
    """The column of the copy, with the value of rows that are there."""
    sql_type = type_of(*column.type_names)
    values, wrong = parse_rows(sql_type, pa.array([column.missing], pa.string()))
    if wrong:
        return f'the values of column "{column.name}", which was added upstream, do not fit: {wrong[0]}'
    return AddedColumn(column.name, sql_type, value_of(values, 0))
