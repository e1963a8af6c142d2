"""Fills in the large values that PostgreSQL leaves out of an update that did not change them (TOAST).

The value is that of the row's last change before: in the same chunk, or in what the engine has of the row.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from risingpy.connectors.pushed import PushedGroup, PushedTable
from risingpy.connectors.row_chunks import BadRows, Ops
from risingpy.types.far_moments import values_of

Mask = npt.NDArray[np.bool_]


def with_unchanged(
    table: PushedTable,
    ops: Ops,
    columns: list[pa.Array],
    missing: Sequence[Mask],
    replaces: Mask,
    group: PushedGroup,
    reasons: BadRows,
) -> list[pa.Array]:
    """The columns with the values of `missing` filled in; `replaces` is that of `RowChanges`.

    A row whose value nobody has becomes bad: the row before it did not fit.
    """
    partial = np.logical_or.reduce(missing)
    partial[list(reasons.by_row)] = False
    keys = list(zip(*(values_of(columns[index]) for index in table.key), strict=True))
    before = _rows_before(ops, keys, partial, replaces)
    asked = [row for row, earlier in before.items() if earlier is None]
    lookup = pa.array([row - int(replaces[row]) for row in asked], pa.int64())
    found, stored = group.current(table.table_id, [columns[index].take(lookup) for index in table.key])
    place = {row: len(ops) + k for k, row in enumerate(asked) if found[k].as_py()}
    sources = np.tile(np.arange(len(ops)), (len(columns), 1))
    for row, earlier in before.items():  # in order: an earlier row of the chunk is whole by then
        from_ = place.get(row) if earlier is None else earlier
        if from_ is None or from_ in reasons.by_row:
            reasons.add(row, "a value that the update left unchanged is not known")
            continue
        for index, of_column in enumerate(missing):
            if of_column[row]:
                sources[index, row] = sources[index, from_] if from_ < len(ops) else from_
    return [
        pa.concat_arrays([values, kept]).take(pa.array(sources[index])) if missing[index].any() else values
        for index, (values, kept) in enumerate(zip(columns, stored, strict=True))
    ]


def _rows_before(ops: Ops, keys: Sequence[object], partial: Mask, replaces: Mask) -> dict[int, int | None]:
    """For each partial row, the row of the chunk that it changes; None if that is not in the chunk."""
    last: dict[object, int] = {}
    before: dict[int, int | None] = {}
    gone: int | None = None
    for row, key in enumerate(keys):
        if partial[row]:
            before[row] = gone if replaces[row] else last.get(key)
        if ops[row] > 0:
            last[key] = row
        else:
            gone = last.pop(key, None)
    return before
