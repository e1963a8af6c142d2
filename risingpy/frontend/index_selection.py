"""Reads an index instead of its relation where a query narrows the index's first columns to constants.

    Filter(a = 5; Scan t(a, c))   =>   Filter(a = 5; Scan i(a, c))          with an index i on t (a) that has c

Only an index that has every column that the scan reads is used, and only if it fixes more leading columns than the
relation's own key does. `key_lookup` then reads just those rows.
"""

from __future__ import annotations

from collections.abc import Container, Sequence

from risingpy.frontend.key_lookup import KeyLookup, filters_on_scans, find_key_lookups
from risingpy.optimizer.rewrite import rewrite_plan
from risingpy.optimizer.stream.index import FIRST_EXPRESSION_ID
from risingpy.plan.catalog import Catalog, JobStatus, Relation, RelationKind
from risingpy.plan.expression_trees import columns_read, remapped, transform
from risingpy.plan.expressions import Expr, InputRef
from risingpy.plan.logical import Field, Filter, LogicalPlan, Project, Scan

_last: list[tuple[Catalog, dict[int, list[Relation]]]] = []  # of the catalog asked for last


def use_indexes(plan: LogicalPlan, catalog: Catalog, *, but_of: Container[int] = ()) -> LogicalPlan:
    """The plan with the best index for each scan that has one, `but_of` these relations. It gives the same rows."""
    by_relation = _indexes(catalog)
    if not by_relation:
        return plan

    def change(node: LogicalPlan) -> LogicalPlan:
        if not isinstance(node, Filter) or not isinstance(node.input, Scan) or node.input.relation_id in but_of:
            return node
        candidates = by_relation.get(node.input.relation_id)
        return node if candidates is None else _best(node, node.input, candidates, catalog)

    return rewrite_plan(plan, change)


def find_index_lookups(plan: LogicalPlan, catalog: Catalog, relations: Container[int]) -> dict[int, KeyLookup]:
    """By `id` of a Scan of one of the relations: what to look for in an index, to find all its rows that count."""
    by_relation = _indexes(catalog)
    found: dict[int, KeyLookup] = {}
    for filter_ in filters_on_scans(plan):
        scan = filter_.input
        if isinstance(scan, Scan) and scan.relation_id in relations and scan.relation_id in by_relation:
            best = _best(filter_, scan, by_relation[scan.relation_id], catalog)
            if best is not filter_:
                [found[id(scan)]] = find_key_lookups(best, catalog).values()
    return found


def _indexes(catalog: Catalog) -> dict[int, list[Relation]]:
    """The indexes that can be used, by what they index."""
    for known, indexes in tuple(_last):  # a copy: another session may put those of its catalog there meanwhile
        if known is catalog:
            return indexes
    found: dict[int, list[Relation]] = {}
    for relation in catalog.relations.values():
        if relation.kind is RelationKind.INDEX and relation.status is JobStatus.CREATED:
            assert relation.index is not None
            found.setdefault(relation.index.relation_id, []).append(relation)
    _last[:] = [(catalog, found)]
    return found


def _best(filter_: Filter, scan: Scan, candidates: Sequence[Relation], catalog: Catalog) -> LogicalPlan:
    relation = catalog.relations[scan.relation_id]
    best: LogicalPlan = filter_
    own = find_key_lookups(filter_, catalog).values()
    if any(lookup.is_whole for lookup in own):  # one row at most: no index finds it faster
        return filter_
    fixed = _fixed_columns(filter_, catalog)
    for index in candidates:
        other = _over(filter_, scan, relation, index)
        if other is not None:
            count = _fixed_columns(other, catalog)
            if count > fixed:
                best, fixed = other, count
    return best


def _fixed_columns(plan: LogicalPlan, catalog: Catalog) -> int:
    """How many leading key columns the plan's only scan has constants for."""
    return max((len(lookup.key) for lookup in find_key_lookups(plan, catalog).values()), default=0)


def _over(filter_: Filter, scan: Scan, relation: Relation, index: Relation) -> LogicalPlan | None:
    """The filter over the index; None if the index lacks a column."""
    assert index.index is not None
    places = {column.column_id: i for i, column in enumerate(index.columns)}
    ids = [relation.columns[i].column_id for i in scan.columns]
    if any(column_id not in places for column_id in ids):
        return None
    columns = [places[column_id] for column_id in ids]
    schema = list(scan.schema)
    predicate = filter_.predicate
    positions = {column_id: position for position, column_id in enumerate(ids)}
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
    narrowed = Filter(chosen, predicate)
    if len(columns) == len(scan.columns):
        return narrowed
    kept = tuple(InputRef(i, field.type) for i, field in enumerate(scan.schema))
    return Project(narrowed, kept, scan.schema)


def _replaced(predicate: Expr, computed: Expr, stored: InputRef) -> Expr:
    """The predicate with what the index has computed taken from there."""
    return transform(predicate, lambda part: stored if part == computed else None)
