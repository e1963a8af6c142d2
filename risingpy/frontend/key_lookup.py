"""Finds the scans that a query narrows to one key, so that they read one row of LMDB instead of the table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from risingpy.executors.expression.nodes import Call, Expr, InputRef, Literal
from risingpy.optimizer.catalog import Catalog, Relation
from risingpy.optimizer.logical import Filter, LogicalPlan, Scan
from risingpy.storage.storage_table import StorageTable


@dataclass(frozen=True, slots=True)
class KeyLookup:
    """The values of a relation's whole storage key, in key order."""

    relation: Relation
    key: tuple[Literal, ...]

    def rows(self, table: StorageTable, columns: Sequence[int]) -> pa.Table:
        """The row of that key, if it is there: the relation's columns at these positions, as c0…"""
        assert self.relation.table is not None
        schema = self.relation.table
        arrays = [pa.array([value.value], value.type.arrow) for value in self.key]
        found, values = table.get_rows(arrays)
        by_column = {key.index: array for key, array in zip(schema.key, arrays, strict=True)}
        by_column.update(zip(schema.value_columns, values, strict=True))
        names = [f"c{position}" for position in range(len(columns))]
        row = pa.table([by_column[index] for index in columns], names=names)
        return row if found[0] else row.slice(0, 0)


def find_key_lookups(plan: LogicalPlan, catalog: Catalog) -> dict[int, KeyLookup]:
    """By `id` of a Scan of the plan: the lookup that its Filter allows."""
    lookups: dict[int, KeyLookup] = {}
    for filter_ in _filters_on_scans(plan):
        scan = filter_.input
        assert isinstance(scan, Scan)
        relation = catalog.relations.get(scan.relation_id)
        if relation is None or relation.table is None:
            continue
        constants = dict(_equalities(filter_.predicate))
        key = [_constant(scan, key.index, relation, constants) for key in relation.table.key]
        if key and all(value is not None for value in key):
            lookups[id(scan)] = KeyLookup(relation, tuple(value for value in key if value is not None))
    return lookups


def _constant(scan: Scan, column: int, relation: Relation, constants: dict[int, Literal]) -> Literal | None:
    if column not in scan.columns:
        return None
    literal = constants.get(scan.columns.index(column))
    if literal is None or literal.value is None or literal.type.arrow != relation.columns[column].type.arrow:
        return None
    return literal


def _filters_on_scans(plan: LogicalPlan) -> Iterator[Filter]:
    if isinstance(plan, Filter) and isinstance(plan.input, Scan):
        yield plan
    for name in ("input", "left", "right"):
        child = getattr(plan, name, None)
        if child is not None:
            yield from _filters_on_scans(child)
    for child in getattr(plan, "inputs", ()):
        yield from _filters_on_scans(child)


def conjuncts(predicate: Expr) -> Iterator[Expr]:
    """The conditions that must all hold."""
    if isinstance(predicate, Call) and predicate.function == "and":
        for arg in predicate.args:
            yield from conjuncts(arg)
    else:
        yield predicate


def _equalities(predicate: Expr) -> Iterator[tuple[int, Literal]]:
    """(column, constant) of the equalities that must all hold."""
    for condition in conjuncts(predicate):
        if isinstance(condition, Call) and condition.function == "eq":
            match condition.args:
                case (InputRef(index=index), Literal() as literal) | (Literal() as literal, InputRef(index=index)):
                    yield index, literal
