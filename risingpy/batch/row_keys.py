"""Groups rows of a relation by their storage keys, to find the writes to the same row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from risingpy.optimizer.stream.index import FIRST_EXPRESSION_ID
from risingpy.plan.catalog import Table
from risingpy.storage.codec.group_keys import group_rows
from risingpy.storage.codec.key_encoding import compute_vnodes, encode_keys
from risingpy.storage.codec.table_schema import KeyColumn, TableColumn
from risingpy.types import SqlType


def keyed_by(relation: Table, places: Sequence[int], computed: Sequence[SqlType] = ()) -> Table:
    """The table as if the columns at these positions were its key: for `group_by_key` over other columns.

    The table's columns are followed by those that are `computed`.
    """
    more = tuple(TableColumn(FIRST_EXPRESSION_ID + i, "", each) for i, each in enumerate(computed))
    columns = (*relation.table.columns, *more)
    schema = replace(relation.table, columns=columns, key=tuple(KeyColumn(place) for place in places))
    return replace(relation, primary_key=tuple(places), table=schema)


def group_by_key(relation: Table, rows: pa.Table) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Groups of rows with equal keys, numbered by first appearance: each row's group, and each group's first row.

    The names of the rows' key columns are their positions in the relation: c0…
    """
    schema = relation.table
    keys = [rows.column(f"c{part.index}").combine_chunks() for part in schema.key]
    return group_rows(encode_keys(schema, keys, compute_vnodes([], rows.num_rows)))
