"""Spreads a recursion over the shards, if its step hands a column on by which all its joins compare.

    Recursion(r (g, n); step: r.g, e.b of Inner(r.g = e.g AND r.n = e.a; r, e))  =>  by r.g, with e by e.g

All that follows from a row of the start has that row's value then, and meets only rows with it. So no row ever leaves
the shard of its value, and each shard goes through its levels by itself, without an exchange between them.
"""

from __future__ import annotations

from collections.abc import Iterator

from risingpy.optimizer.rules.numeric_keys import is_keyed
from risingpy.optimizer.stream.aggregation import exchange
from risingpy.plan.expression_trees import conjuncts
from risingpy.plan.expressions import Call, InputRef, Literal
from risingpy.plan.logical import Filter, LogicalPlan, Project, Recursion, RecursiveScan, Scan
from risingpy.plan.operators import Exchange, StreamPlan
from risingpy.plan.passed_columns import PassedColumns
from risingpy.plan.properties import ColumnIndex, DistributionKind


def columns_to_spread_by(query: Recursion) -> Iterator[tuple[ColumnIndex, ...]]:
    """What a recursion may be spread by, the best first: columns that its step hands on.

    A column that the start fixes to one value would spread nothing. Those of which a further column is the key, wide
    numerics and jsonb, have several forms of equal values.
    """
    kept = _KeptColumns(query.name)
    found = [
        i
        for i, field in enumerate(query.schema)
        if kept.of(query.step, i) == i and not is_keyed(field.type) and not _is_fixed(query.start, i)
    ]
    if len(found) > 1:
        yield tuple(found)
    yield from ((column,) for column in found)


def met_in_step(
    sides: tuple[StreamPlan, StreamPlan], keys: tuple[tuple[ColumnIndex, ...], tuple[ColumnIndex, ...]]
) -> tuple[StreamPlan, StreamPlan]:
    """The sides of a join in the step of a recursion, with each pair of rows together on one shard.

    Where an exchange of rows of the recursion is needed for that, it cannot be spread.
    """
    if all(side.properties.distribution.kind is DistributionKind.SINGLE for side in sides):
        return sides
    for given, (side, key) in enumerate(zip(sides, keys, strict=True)):
        other, spread = sides[1 - given], side.properties.distribution
        single = other.properties.distribution.kind is DistributionKind.SINGLE
        if single and spread.kind is DistributionKind.HASH and set(spread.columns) <= set(key):
            columns = tuple(keys[1 - given][key.index(column)] for column in spread.columns)
            other = exchange(other.input if isinstance(other, Exchange) else other, columns)
            return (other, side) if given else (side, other)
    return exchange(sides[0], ()), exchange(sides[1], ())


class _KeptColumns(PassedColumns[int | None]):
    """Of which column of the recursion's row a column of its step has the value; None of none."""

    computed = None
    of_itself = None

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name

    def recursive(self, scan: RecursiveScan, place: int) -> int | None:
        return place if scan.name == self._name else None

    def scanned(self, scan: Scan, place: int) -> int | None:
        return None


def _is_fixed(plan: LogicalPlan, place: ColumnIndex) -> bool:
    """Whether a column has one value in all rows, as the query says."""
    match plan:
        case Project(input, expressions):
            match expressions[place]:
                case Literal():
                    return True
                case InputRef(index):
                    return _is_fixed(input, index)
        case Filter(input, predicate):
            fixed = any(_fixes(part, place) for part in conjuncts(predicate))
            return fixed or _is_fixed(input, place)
    return False


def _fixes(condition: object, place: ColumnIndex) -> bool:
    match condition:
        case Call("eq", (InputRef(index), Literal())):
            return index == place
    return False
