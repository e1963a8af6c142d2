"""The rows of a table that an index finds, for a transaction whose own changes are to lie over them.

An index has what is committed only. So it says which rows of the table may count, by their keys; those that the
transaction has changed are read besides, and both are what its changes are laid over.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from risingpy.frontend.key_lookup import KeyLookup
from risingpy.plan.catalog import Relation
from risingpy.storage.engine.read_views import ReadView
from risingpy.storage.engine.storage_table import StorageTable


def rows_behind(relation: Relation, lookup: KeyLookup, changes: Sequence[pa.Table], view: ReadView) -> pa.Table:
    """Committed rows of the table, all columns (c0…): those of the lookup in its index, and those of `changes`.

    A row that is both comes twice.
    """
    assert relation.table is not None
    key = relation.table.key
    places = {column.column_id: i for i, column in enumerate(lookup.relation.columns)}
    indexed = lookup.rows(
        StorageTable(lookup.table, view), [places[relation.columns[part.index].column_id] for part in key]
    )
    keys = []
    for k, part in enumerate(key):
        type_ = relation.columns[part.index].type.arrow
        written = [chunk.column(f"c{part.index}") for chunk in changes]
        columns = (column.cast(type_) for column in (indexed.column(k), *written))
        keys.append(pa.concat_arrays([piece for column in columns for piece in column.chunks]))
    found, values = StorageTable(relation.table, view).get_rows(keys)
    by_column = {part.index: column for part, column in zip(key, keys, strict=True)}
    by_column.update(zip(relation.table.value_columns, values, strict=True))
    rows = pa.table({f"c{i}": by_column[i] for i in range(len(relation.columns))})
    return rows.filter(pa.array(found))
