"""Chooses an index instead of its relation if a query compares the index's first columns with constants.

    Filter(a = 5; Scan t(a, c))   =>   Filter(a = 5; Scan i(a, c))          with an index i on t (a) that has c

An index must have every column that the scan reads, and must fix more leading columns than the relation's own key does,
or the same ones where these tell the index's vnode and not the key's: then each of 256 is looked into. A join's rows
are spread by what it compares, and their key begins with that of its left side. An index that is partial must have
every row that the filter lets through.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from risingpy.batch.key_lookup import key_read
from risingpy.batch.plan import KeyRead, ListScan, PointGet, PrefixScan
from risingpy.optimizer.implication import implies
from risingpy.optimizer.stream.index import FIRST_EXPRESSION_ID
from risingpy.plan.catalog import Catalog, Index, JobStatus, StoredRelation
from risingpy.plan.expression_trees import columns_read, remapped, transform
from risingpy.plan.expressions import Expr, InputRef
from risingpy.plan.logical import Field, Filter, LogicalPlan, Project, Scan

_FEW = 64  # rows: an index of which nobody knows how many rows it gives is not better


@dataclass(frozen=True, slots=True)
class IndexRead:
    """The read of an index, and the query over it with the same result as the filter over the relation."""

    query: LogicalPlan
    read: KeyRead


def best_index(
    scan: Scan, predicate: Expr, relation: StoredRelation, catalog: Catalog, own: KeyRead | None
) -> IndexRead | None:
    """The index that fixes the most key columns; None if none is better than `own`, the read by the relation's key."""
    if isinstance(own, PointGet):  # at most one row: no index finds it faster
        return None
    if isinstance(own, ListScan) and len(own.values) <= _FEW and len(own.relation.table.key) == 1:
        return None
    best: IndexRead | None = None
    fixed = _fixed(own)
    for index in catalog.indexes_of(relation.relation_id):
        if index.status is not JobStatus.CREATED or index.index.nearest is not None:
            continue
        found = _over(scan, predicate, relation, index)
        if found is None:
            continue
        if _fixed(found.read) > fixed or (best is None and _alone_tells_vnode(found.read, own)):
            best, fixed = found, _fixed(found.read)
    return best


def indexes_with(
    relation: StoredRelation, columns: Sequence[int], catalog: Catalog
) -> Iterator[tuple[Index, tuple[int, ...]]]:
    """The relation's indexes that have all its rows and these columns, and where these are in each."""
    ids = [relation.columns[each].column_id for each in columns]
    for index in catalog.indexes_of(relation.relation_id):
        places = {column.column_id: place for place, column in enumerate(index.columns)}
        has_all_rows = index.index.nearest is None and index.index.predicate is None
        if index.status is JobStatus.CREATED and has_all_rows and all(each in places for each in ids):
            yield index, tuple(places[each] for each in ids)


def _fixed(read: KeyRead | None) -> tuple[int, bool]:
    """How many columns of the key it fixes, and whether it limits the first one."""
    match read:
        case None:
            return 0, False
        case ListScan():
            return 0, True
        case PointGet() | PrefixScan():
            return len(read.key), True


def _alone_tells_vnode(read: KeyRead, own: KeyRead | None) -> bool:
    """Whether both fix the same columns, and so find as many rows, and only `read` knows where these are."""
    if not (isinstance(read, PrefixScan) and isinstance(own, PrefixScan)):
        return False
    return _tells_vnode(read) and not _tells_vnode(own) and _fixed_ids(read) == _fixed_ids(own)


def _tells_vnode(read: PrefixScan) -> bool:
    return read.relation.table.tells_vnode(len(read.key))


def _fixed_ids(read: PrefixScan) -> frozenset[int]:
    relation = read.relation
    return frozenset(relation.columns[part.index].column_id for part in relation.table.key[: len(read.key)])


def _over(scan: Scan, predicate: Expr, relation: StoredRelation, index: Index) -> IndexRead | None:
    """The filter over the index; None if the index lacks a column, or the filter fixes none of its keys."""
    places = {column.column_id: i for i, column in enumerate(index.columns)}
    ids = [relation.columns[i].column_id for i in scan.columns]
    if any(column_id not in places for column_id in ids):
        return None
    columns = [places[column_id] for column_id in ids]
    schema = list(scan.schema)
    positions = {column_id: position for position, column_id in enumerate(ids)}
    if not _has_all(index, predicate, positions):
        return None
    for number, key in enumerate(index.index.keys):
        if isinstance(key.expression, InputRef) or columns_read(key.expression) - positions.keys():
            continue
        stored = InputRef(len(columns), key.expression.type)
        replaced = _replaced(predicate, remapped(key.expression, positions), stored)
        if replaced != predicate:
            predicate = replaced
            columns.append(places[FIRST_EXPRESSION_ID + number])
            schema.append(Field(key.text, stored.type, hidden=True))
    chosen = Scan(index.relation_id, index.qualified_name, tuple(columns), tuple(schema), index.version)
    read = key_read(index, chosen, predicate)
    if read is None:
        return None
    narrowed = Filter(chosen, predicate)
    if len(columns) == len(scan.columns):
        return IndexRead(narrowed, read)
    kept = tuple(InputRef(i, field.type) for i, field in enumerate(scan.schema))
    return IndexRead(Project(narrowed, kept, scan.schema), read)


def _has_all(index: Index, predicate: Expr, positions: dict[int, int]) -> bool:
    """Whether the index has all rows for which the predicate is true, as one does that is not partial."""
    of_index = index.index.predicate
    if of_index is None:
        return True
    is_read = columns_read(of_index.expression) <= positions.keys()
    return is_read and implies(predicate, remapped(of_index.expression, positions))


def _replaced(predicate: Expr, computed: Expr, stored: InputRef) -> Expr:
    """The predicate with the index's column in place of the expression that the index has computed."""
    return transform(predicate, lambda part: stored if part == computed else None)
