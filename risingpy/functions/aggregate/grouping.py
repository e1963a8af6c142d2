"""Groups the rows of a chunk by their group key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.storage.codec.group_keys import group_rows
from risingpy.storage.codec.key_encoding import canonical, encode_keys
from risingpy.storage.codec.table_schema import KeyColumn, TableColumn, TableSchema, ValueFormat
from risingpy.types import SqlType
from risingpy.types.families import FAMILIES

Integers = npt.NDArray[np.int64]
Signs = npt.NDArray[np.int8]


@dataclass(frozen=True, slots=True)
class Groups:
    """`codes[i]` is the group of row i, `keys` are the group columns with one row per group."""

    codes: Integers
    keys: list[pa.Array]
    number: int


@dataclass(frozen=True, slots=True)
class GroupedRows:
    """Rows to aggregate: the group and the sign of each row, and the number of groups."""

    codes: Integers
    signs: Signs
    groups: int

    def select(self, mask: npt.NDArray[np.bool_]) -> GroupedRows:
        return GroupedRows(self.codes[mask], self.signs[mask], self.groups)


def group_by(columns: Sequence[pa.Array], types: Sequence[SqlType], rows: int) -> Groups:
    """Groups of equal values, as SQL's GROUP BY finds them: NULLs are equal, so are NaNs, and 0 and -0.

    Groups are numbered by first appearance. Without columns all rows are one group, and there is one even
    without rows.
    """
    if not columns:
        return Groups(np.zeros(rows, np.int64), [], 1)
    columns = [canonical_column(column, type_) for column, type_ in zip(columns, types, strict=True)]
    if rows == 1:
        return Groups(np.zeros(1, np.int64), columns, 1)
    if len(columns) == 1 and _is_plain(types[0]):
        encoded = columns[0].dictionary_encode(null_encoding="encode")
        codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        return Groups(codes, [encoded.dictionary], len(encoded.dictionary))
    codes, firsts = group_rows(encoded_rows(columns, types, rows))
    return Groups(codes, [column.take(pa.array(firsts)) for column in columns], len(firsts))


def canonical_column(column: pa.Array, type_: SqlType) -> pa.Array:
    """The column with one form for all values that SQL calls equal: -0 becomes 0, 30 days become a month."""
    if type_.is_float:
        return pc.add(column, pa.scalar(0.0, column.type))
    return canonical(column)  # -0 inside of a nested value is written as 0 by the key encoding


def encoded_rows(columns: Sequence[pa.Array], types: Sequence[SqlType], rows: int) -> pa.BinaryArray:
    """One byte string per row, equal for equal rows and ordered as the rows are, NULLs last."""
    schema = TableSchema(
        table_id=0,
        name="",
        columns=tuple(TableColumn(i, "", type_) for i, type_ in enumerate(types)),
        key=tuple(KeyColumn(i) for i in range(len(types))),
        distribution=(),
        value_columns=(),
        value_format=ValueFormat.PLAIN,
    )
    return encode_keys(schema, columns, np.zeros(rows, np.uint16))


def _is_plain(type_: SqlType) -> bool:
    """Whether Arrow's own hashing agrees with SQL's equality."""
    return FAMILIES[type_.kind].hashed_by_arrow
