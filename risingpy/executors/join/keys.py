"""Numbers the join keys of an epoch's changes over both sides, so that equal keys have equal numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from risingpy.functions.aggregate.grouping import canonical_column, group_by
from risingpy.types import SqlType

Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Keys:
    """`values` are the columns of the distinct keys, in canonical form; `number` is how many keys there are."""

    values: list[pa.Array]
    number: int

    def of(self, codes: Integers) -> tuple[Integers, list[pa.Array]]:
        """The numbers and the values of the keys that occur in `codes`, in the order of their numbers."""
        present = np.flatnonzero(np.bincount(codes, minlength=self.number))
        if len(present) == self.number:
            return present, self.values
        return present, [column.take(pa.array(present)) for column in self.values]


def canonical_keys(columns: Sequence[pa.Array], types: Sequence[SqlType]) -> list[pa.Array]:
    """The key columns with one representation for all values that SQL calls equal."""
    return [canonical_column(column, type_) for column, type_ in zip(columns, types, strict=True)]


def can_match(key: Sequence[pa.Array], null_safe: Sequence[bool], rows: int) -> Mask:
    """Which rows can match: those without NULL in the key, except in columns where NULL equals NULL (`null_safe`)."""
    mask = np.ones(rows, np.bool_)
    for column, safe in zip(key, null_safe, strict=True):
        if column.null_count and not safe:
            mask &= column.is_valid().to_numpy(zero_copy_only=False)
    return mask


def number_keys(
    left: Sequence[pa.Array], right: Sequence[pa.Array], types: Sequence[SqlType], rows: tuple[int, int]
) -> tuple[Keys, Integers, Integers]:
    """The distinct keys of both sides, and the number of each row's key. `rows` are the sides' numbers of rows."""
    both = [pa.concat_arrays([a, b]) for a, b in zip(left, right, strict=True)]
    groups = group_by(both, types, sum(rows))
    return Keys(groups.keys, groups.number), groups.codes[: rows[0]], groups.codes[rows[0] :]
