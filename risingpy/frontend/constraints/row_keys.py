"""What keys rows have for UNIQUE and FOREIGN KEY, if rows can be looked up by them one by one."""

from __future__ import annotations

from risingpy.meta.writing.row_guard import Reference
from risingpy.meta.writing.row_keys import log_has_newest_rows
from risingpy.meta.writing.unique_key import UniqueKey, unique_key
from risingpy.plan.catalog import Catalog, ForeignKey, Index, JobStatus, Table


def key_of(table: Table, index: Index) -> UniqueKey | None:
    """What unique keys rows have, if these can be looked at one by one."""
    rule = index.index.unique
    ready = index.status is JobStatus.CREATED and rule is not None and rule.nulls_distinct
    return unique_key(table, index) if ready else None


def reference_of(catalog: Catalog, table: Table, key: ForeignKey) -> Reference | None:
    """How the rows are found to which a foreign key refers; None if that takes more than their keys."""
    target = catalog.relations[key.table_id]
    assert isinstance(target, Table)
    if key.matches_full:
        return None
    index, places = None, target.primary_key
    if key.index_id is not None:
        found = catalog.relations[key.index_id]
        assert isinstance(found, Index)
        unique = key_of(target, found)
        if unique is None or unique.places is None:
            return None
        index, places = found, unique.places
    elif not log_has_newest_rows(catalog, target):
        return None
    own = {column.column_id: place for place, column in enumerate(table.columns)}
    theirs = dict(zip(key.referenced, key.columns, strict=True))
    ordered = tuple(own[theirs[target.columns[place].column_id]] for place in places)
    same = all(table.columns[o].type == target.columns[t].type for o, t in zip(ordered, places, strict=True))
    return Reference(target, index, ordered, tuple(table.columns[o].type for o in ordered)) if same else None
