"""Queries that are one row looked up by its whole key, some columns of it: `SELECT a, b FROM t WHERE id = 5`."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from risingpy.frontend.key_lookup import KeyLookup, find_key_lookups
from risingpy.plan.catalog import Catalog
from risingpy.plan.expression_trees import conjuncts
from risingpy.plan.expressions import InputRef, Literal
from risingpy.plan.logical import Filter, LogicalPlan, Project, Scan, Schema
from risingpy.storage.engine.read_views import ReadView
from risingpy.storage.engine.storage_table import StorageTable


@dataclass(frozen=True, slots=True)
class DirectLookup:
    """A key lookup, and for each output column the scanned column or the constant that it is."""

    lookup: KeyLookup
    scanned: tuple[int, ...]
    outputs: tuple[InputRef | Literal, ...]

    def row(self, view: ReadView) -> pa.RecordBatch:
        """The row, if it is there."""
        assert self.lookup.relation.table is not None
        row = self.lookup.rows(StorageTable(self.lookup.relation.table, view), self.scanned)
        arrays = [
            row.column(output.index).combine_chunks()
            if isinstance(output, InputRef)
            else pa.array([output.value] * row.num_rows, output.type.arrow)
            for output in self.outputs
        ]
        return pa.RecordBatch.from_arrays(arrays, names=[f"c{index}" for index in range(len(arrays))])


def direct_lookup(plan: LogicalPlan, catalog: Catalog) -> DirectLookup | None:
    """The lookup that answers the whole plan, or None."""
    outputs = _inputs(plan.schema)
    node = plan
    while isinstance(node, Project):
        composed = _composed(outputs, node)
        if composed is None:
            return None
        outputs, node = composed, node.input
    if not outputs or not isinstance(node, Filter) or not isinstance(node.input, Scan):
        return None
    if catalog.get(node.input.relation_id) is None:
        return None
    lookup = find_key_lookups(node, catalog).get(id(node.input))
    # The predicate must say no more than the key does.
    if lookup is None or not lookup.is_whole or len(conjuncts(node.predicate)) != len(lookup.key):
        return None
    return DirectLookup(lookup, node.input.columns, outputs)


def _inputs(schema: Schema) -> tuple[InputRef | Literal, ...]:
    return tuple(InputRef(index, field.type) for index, field in enumerate(schema))


def _composed(outputs: tuple[InputRef | Literal, ...], project: Project) -> tuple[InputRef | Literal, ...] | None:
    """`outputs` over the projection's input; None if it computes one of them."""
    below: list[InputRef | Literal] = []
    for output in outputs:
        source = project.expressions[output.index] if isinstance(output, InputRef) else output
        if not isinstance(source, InputRef | Literal):
            return None
        below.append(source)
    return tuple(below)
