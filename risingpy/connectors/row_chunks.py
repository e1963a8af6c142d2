"""Texts of columns become change chunks. A row that does not fit into its table is left out, and reported.

If the row's key can be read, the row that the table has of it is deleted: it would be out of date.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.connectors.pushed import PushedRows, PushedTable
from risingpy.types.forms import parse_rows

MOST_SAMPLES = 100  # of bad rows, of one chunk
_SHOWN = 200  # characters of a value

Ops = npt.NDArray[np.int8]


@dataclass(slots=True)
class BadRows:
    """Rows of a chunk that do not fit: the first reason of each, by its position."""

    by_row: dict[int, str] = field(default_factory=dict)

    def add(self, row: int, reason: str) -> None:
        self.by_row.setdefault(row, reason)


def parsed(table: PushedTable, ops: Ops, texts: Sequence[pa.Array], reasons: BadRows) -> list[pa.Array]:
    """The columns' values; of a deletion, those of the key alone."""
    columns = []
    deleted = ops < 0
    for index, (column, of_column) in enumerate(zip(table.columns, texts, strict=True)):
        if index not in table.key and deleted.any():
            of_column = pc.if_else(pa.array(deleted), pa.scalar(None, pa.string()), of_column)
        values, wrong = parse_rows(column.type, of_column)
        for row, reason in wrong.items():
            reasons.add(row, f'column "{column.name}": {reason}')
        columns.append(values)
    return columns


def note_missing(table: PushedTable, ops: Ops, columns: Sequence[pa.Array], reasons: BadRows) -> None:
    """NULLs where the table takes none make a row bad."""
    for index, (column, values) in enumerate(zip(table.columns, columns, strict=True)):
        if values.null_count and (column.not_null or index in table.key):
            missing = values.is_null().to_numpy(zero_copy_only=False)
            for row in np.flatnonzero(missing if index in table.key else missing & (ops > 0)):
                reasons.add(int(row), f'null value in column "{column.name}"')


def chunk_of(
    table: PushedTable,
    ops: Ops,
    columns: Sequence[pa.Array],
    reasons: BadRows,
    *,
    rows: PushedRows,
    position: Callable[[int], int],
    text: Callable[[int], str],
) -> pa.Table:
    """The change chunk. Bad rows are reported with their `position` and `text`, and their keys deleted."""
    if reasons.by_row:
        bad = sorted(reasons.by_row)
        samples = [(position(row), reasons.by_row[row], text(row)) for row in bad[:MOST_SAMPLES]]
        rows.rejected(table, len(bad), samples)
        ops = ops.copy()
        ops[bad] = -1
        readable = np.ones(len(ops), np.bool_)
        for index in table.key:
            readable[bad] &= columns[index].is_valid().to_numpy(zero_copy_only=False)[bad]
        kept = pa.array(readable)
        ops, columns = ops[readable], [values.filter(kept) for values in columns]
    names = ["op", *(f"c{index}" for index in range(len(columns)))]
    return pa.table([pa.array(ops, pa.int8()), *columns], names=names)


def shown_row(texts: Sequence[pa.Array], row: int) -> str:
    """A row's texts, for people."""
    values = (column[row].as_py() for column in texts)
    return ", ".join("null" if value is None else value[:_SHOWN] for value in values)
