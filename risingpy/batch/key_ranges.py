"""Finds bounds of the first key column in a query's conditions: `id >= 5 AND id < 9`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pyarrow as pa

from risingpy.batch.key_lookup import is_key_expression
from risingpy.batch.parameters import Parameters, constant
from risingpy.batch.plan import KeyBound, RangeScan
from risingpy.plan.catalog import StoredRelation
from risingpy.plan.expression_trees import conjuncts
from risingpy.plan.expressions import Call, Expr, InputRef
from risingpy.plan.logical import Scan
from risingpy.storage.engine.storage_table import NOT_NULL, StorageTable
from risingpy.types import TypeKind

# Their keys are in the order in which SQL compares them, and equal values have one form.
ORDERED = (
    *(TypeKind.SMALLINT, TypeKind.INTEGER, TypeKind.BIGINT),
    *(TypeKind.DATE, TypeKind.TIMESTAMP, TypeKind.TIMESTAMPTZ, TypeKind.TIMESTAMP_NS),
    TypeKind.JSONB,  # of which queries compare the keys, and a relation's rows have no other form in theirs
)
_SWAPPED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}


def range_scan(relation: StoredRelation, scan: Scan, predicate: Expr) -> RangeScan | None:
    """The rows that the predicate over the scan leaves, or some more; None if it does not bound the key's first column.

    The predicate must still be applied to them.
    """
    key = relation.table.key
    if not key or key[0].descending or key[0].index not in scan.columns:
        return None
    type_ = relation.columns[key[0].index].type
    if type_.kind not in ORDERED:
        return None
    place = scan.columns.index(key[0].index)
    found = (bound for condition in conjuncts(predicate) for bound in _bounds(condition, place))
    bounds = tuple(bound for bound in found if bound.value.type.arrow == type_.arrow)
    return RangeScan(relation, bounds, scan.columns) if bounds else None


def knows_bounds(scan: RangeScan, parameters: Parameters) -> bool:
    """Whether all bounds have values that need no evaluator."""
    values = [constant(bound.value, parameters) for bound in scan.bounds]
    return all(value is not None and value.value is not None for value in values)


def range_keys(scan: RangeScan, table: StorageTable, parameters: Parameters) -> tuple[bytes, bytes]:
    """What keys begin with, after the vnode, in the range: from the first, and before the second."""
    low, high = NOT_NULL
    for bound in scan.bounds:
        value = constant(bound.value, parameters)
        if value is None or value.value is None:  # the query's filter computes it, and raises its error
            continue
        first, after = table.range_of(pa.array([value.value], value.type.arrow))
        match bound.comparison:
            case "ge":
                low = max(low, first)
            case "gt":
                low = max(low, after)
            case "lt":
                high = min(high, first)
            case _:
                high = min(high, after)
    return low, high


def _bounds(condition: Expr, place: int) -> Iterator[KeyBound]:
    """Those that the condition, which must hold, sets to the column at `place` of the scan."""
    match _of_values(condition):
        case Call(function, (InputRef(index), value)) if function in _SWAPPED and index == place:
            if is_key_expression(value):
                yield KeyBound(function, value)
        case Call(function, (value, InputRef(index))) if function in _SWAPPED and index == place:
            if is_key_expression(value):
                yield KeyBound(_SWAPPED[function], value)


def _of_values(condition: Expr) -> Expr:
    """A comparison of the keys of jsonb as one of the values: a relation can be read by either."""
    match condition:
        case Call(_, (Call("jsonb_key", (left,)), Call("jsonb_key", (right,)))):
            return replace(condition, args=(left, right))
        case _:
            return condition
