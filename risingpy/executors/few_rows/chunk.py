"""A change chunk of a few rows as plain Python values: what most epochs of a database have that is written row by row.

It stands for a table of Arrow's (`change_chunk`), and becomes one where somebody needs columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from risingpy.executors.change_chunk import make_chunk
from risingpy.storage.codec.column_buffers import whole
from risingpy.storage.codec.python_values import PythonRow, python_types

FEW = 100  # rows: columns of more are as quick, or quicker (measured)

OpRow: TypeAlias = "tuple[int, PythonRow]"  # +1 or -1, and the row


class FewRows:
    """Rows with their ops, all of these Arrow types, of which `python_types` knows each."""

    __slots__ = ("_table", "rows", "types")

    def __init__(self, types: Sequence[pa.DataType], rows: list[OpRow]) -> None:
        self.types = types
        self.rows = rows
        self._table: pa.Table | None = None

    @classmethod
    def of(cls, chunk: pa.Table) -> FewRows | None:
        """The rows of a chunk; None if they are many, or have values that stay in columns."""
        if chunk.num_rows > FEW:
            return None
        types = chunk.schema.types[1:]
        known = python_types(types)
        if known is None:
            return None
        columns = [each.read(whole(column)) for each, column in zip(known, chunk.columns[1:], strict=True)]
        rows = zip(*columns, strict=True) if columns else ((),) * chunk.num_rows
        few = cls(types, list(zip(chunk.column(0).to_pylist(), rows, strict=True)))
        few._table = chunk
        return few

    @property
    def num_rows(self) -> int:
        return len(self.rows)

    @property
    def table(self) -> pa.Table:
        """The rows in columns."""
        if self._table is None:
            known = python_types(self.types)
            assert known is not None
            ops = np.array([op for op, _ in self.rows], np.int8)
            columns = zip(*(row for _, row in self.rows), strict=True) if self.rows else ((),) * len(known)
            self._table = make_chunk(ops, [each.write(list(c)) for each, c in zip(known, columns, strict=True)])
        return self._table


Chunk: TypeAlias = "pa.Table | FewRows"


def table_of(chunk: Chunk) -> pa.Table:
    """A chunk in columns."""
    return chunk.table if isinstance(chunk, FewRows) else chunk


def joined(chunks: Sequence[Chunk]) -> Chunk:
    """All rows of some chunks of the same columns."""
    if len(chunks) == 1:
        return chunks[0]
    few = [chunk for chunk in chunks if isinstance(chunk, FewRows)]
    if len(few) == len(chunks) and sum(chunk.num_rows for chunk in few) <= FEW:
        return FewRows(few[0].types, list(chain.from_iterable(chunk.rows for chunk in few)))
    return pa.concat_tables([table_of(chunk) for chunk in chunks])


def consolidated_rows(rows: list[OpRow]) -> list[OpRow]:
    """The rows without pairs that cancel: identical rows of which one is inserted and one is retracted."""
    if len({op for op, _ in rows}) < 2:
        return rows
    net: dict[PythonRow, int] = {}
    for op, row in rows:
        net[row] = net.get(row, 0) + op
    if sum(map(abs, net.values())) == len(rows):
        return rows
    return [(1 if count > 0 else -1, row) for row, count in net.items() for _ in range(abs(count))]
