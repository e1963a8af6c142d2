"""UNIQUE and FOREIGN KEY of many new rows, by looking their keys up in the committed state: is all as it should be?

    the keys differ from each other, and no committed row has one of them   =>   UNIQUE holds
    each key to which rows refer is that of a committed row                 =>   FOREIGN KEY holds

The statement holds its table, and epochs have all rows of others. So nothing else counts, unless the transaction has
written to these tables before. A query answers then, and names the row that is refused: it reads a whole table, which
takes 10 times longer for some thousand rows beside a million.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from risingpy.batch import CommittedKeys, group_by_key, keyed_by
from risingpy.frontend.constraints.row_keys import key_of, reference_of
from risingpy.frontend.statement_context import StatementContext
from risingpy.meta.writing.unique_key import CannotCompute, Columns
from risingpy.plan.catalog import Catalog, ForeignKey, Index, Table
from risingpy.types import SqlType

_MOST_ROWS = 500_000  # of more, the query uses less memory, and a join may read no more than the lookups do


def have_new_keys(session: StatementContext, table: Table, new: pa.Table, index: Index) -> bool:
    """Whether no two rows have one key, the new ones among them. False also if only a query tells."""
    key, rows = key_of(table, index), new.num_rows
    if key is None or rows > _MOST_ROWS or rows != sum(each.num_rows for each in session.transaction.changes_of(table)):
        return False
    try:
        keys = _without_nulls(key.values(new.columns))
    except CannotCompute:
        return False
    if len(_first_of_each(table, key.types, keys)) < keys.num_rows:
        return False
    return not _with_rows(session, table, index, keys.columns)


def refer_to_rows(session: StatementContext, catalog: Catalog, table: Table, new: pa.Table, key: ForeignKey) -> bool:
    """Whether each of the rows refers to a row, or to nothing. False also if only a query tells."""
    reference = reference_of(catalog, table, key)
    if reference is None or new.num_rows > _MOST_ROWS:
        return False
    if reference.target.relation_id in session.transaction.changed_tables:
        return False
    keys = _without_nulls([new.column(f"c{place}") for place in reference.places])
    keys = keys.take(_first_of_each(table, reference.types, keys))
    found = _with_rows(session, reference.target, reference.index, keys.columns)
    return len(found) == int(keys.num_rows)


def _without_nulls(values: Columns) -> pa.Table:
    """The keys, as a table; one with a NULL is like no other, and refers to nothing."""
    keys = pa.table(list(values), names=[f"k{place}" for place in range(len(values))])
    for column in keys.columns:
        if column.null_count:
            return keys.filter(_all_valid(keys))
    return keys


def _all_valid(keys: pa.Table) -> pa.ChunkedArray:
    valid: pa.ChunkedArray = pc.is_valid(keys.column(0))
    for column in keys.columns[1:]:
        valid = pc.and_(valid, pc.is_valid(column))
    return valid


def _first_of_each(table: Table, types: Sequence[SqlType], keys: pa.Table) -> pa.Array:
    """The places of the first row of each key."""
    places = range(len(table.columns), len(table.columns) + len(types))
    _, firsts = group_by_key(keyed_by(table, places, types), keys.rename_columns([f"c{place}" for place in places]))
    return pa.array(firsts)


def _with_rows(session: StatementContext, table: Table, index: Index | None, keys: Columns) -> list[int]:
    """The numbers of those keys, of the primary key or of an index, that a committed row has."""
    if not len(keys[0]):
        return []
    columns = [each.combine_chunks() if isinstance(each, pa.ChunkedArray) else each for each in keys]
    relation_id = table.relation_id if index is None else index.relation_id
    view = session.database.reads.snapshot((relation_id,), session.cancelled).view
    try:
        return CommittedKeys().of_columns(view, table, index, columns)
    finally:
        view.release()
