"""Finds the joins for which the rows of one side can be looked up, by a key or an index, with the values of the other.

    SELECT … FROM orders o JOIN customers c ON o.customer = c.id WHERE o.id = 7   =>   c's input: id IN (customer of o)

A scan's rows may be narrowed to those whose column has a value of V where a filter `column IN V` could be moved down to
the scan from the join: V are all values that the other side's column can have, which are those of the input that it
comes from. A column's origin says from which input it comes, and whether such a filter could be moved there. So few
rows of one input make few of another one, and these of a third. Called by `planner.py`; for each run,
`looked_up_rows.py` decides whether there are few enough.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from risingpy.batch.index_choice import indexes_with
from risingpy.batch.plan import FullScan, IndexRange, Input, Lookup, RangeScan, SystemRows
from risingpy.optimizer.rewrite import plan_inputs
from risingpy.plan.catalog import Catalog, ExternalSource, StoredRelation
from risingpy.plan.expression_trees import conjuncts
from risingpy.plan.expressions import Call, Cast, Expr, InputRef
from risingpy.plan.logical import (
    FILTERS_LEFT,
    FILTERS_RIGHT,
    Aggregate,
    Filter,
    Join,
    JoinKind,
    Limit,
    LogicalPlan,
    OverWindow,
    Project,
    ProjectSet,
    Scan,
    Sort,
    SystemScan,
    TopN,
)
from risingpy.types import TypeKind

_INTEGERS = frozenset({TypeKind.SMALLINT, TypeKind.INTEGER, TypeKind.BIGINT})
_LOOKED_UP = _INTEGERS | {  # equal values have equal keys
    *(TypeKind.VARCHAR, TypeKind.BYTEA, TypeKind.BOOLEAN),
    *(TypeKind.DATE, TypeKind.TIMESTAMP, TypeKind.TIMESTAMPTZ, TypeKind.TIMESTAMP_NS),
}
# The kinds of joins whose result is the same if the left, or the right side lacks rows that match nothing.
_NARROWS_LEFT = frozenset({JoinKind.INNER, JoinKind.RIGHT, JoinKind.LEFT_SEMI})
_NARROWS_RIGHT = frozenset({JoinKind.INNER, JoinKind.LEFT, JoinKind.LEFT_SEMI, JoinKind.LEFT_ANTI})


@dataclass(frozen=True, slots=True)
class _Origin:
    """From which column of which input the values of a column come; NULL may be among them besides.

    `is_filter_movable`: a filter by the column alone could be moved down to the input.
    """

    input: int
    place: int
    is_filter_movable: bool = True


_Origins: TypeAlias = "tuple[_Origin | None, ...]"


def join_lookups(
    query: LogicalPlan, inputs: Sequence[Input], catalog: Catalog, read_again: Set[int]
) -> tuple[Lookup, ...]:
    """The lookups that the query's joins allow. `inputs` are those of its scans, left to right."""
    if len(inputs) < 2:
        return ()
    finder = _Finder(inputs, catalog, read_again)
    finder.origins(query)
    return tuple(dict.fromkeys(finder.found))


@dataclass(slots=True)
class _Finder:
    inputs: Sequence[Input]
    catalog: Catalog
    read_again: Set[int]
    found: list[Lookup] = field(default_factory=list)
    scans: int = 0

    def origins(self, query: LogicalPlan) -> _Origins:
        """The origins of the query's columns. Collects the lookups of its joins."""
        match query:
            case Scan() | SystemScan():
                self.scans += 1
                return tuple(_Origin(self.scans - 1, place) for place in range(len(query.schema)))
            case Filter() | Sort():
                return self.origins(query.input)
            case Project():
                below = self.origins(query.input)
                return tuple(below[e.index] if isinstance(e, InputRef) else None for e in query.expressions)
            case Aggregate():
                below = self.origins(query.input)
                return (*(below[key] for key in query.group_key), *(None for _ in query.calls))
            case Limit() | TopN() | OverWindow() | ProjectSet():  # which rows come, or a value, may depend on others
                below = _unmovable(self.origins(query.input))
                return (*below, *(None for _ in range(len(query.schema) - len(below))))
            case Join():
                return self._joined(query)
        for each in plan_inputs(query):
            self.origins(each)
        return (None,) * len(query.schema)

    def _joined(self, join: Join) -> _Origins:
        left, right = self.origins(join.left), self.origins(join.right)
        both = (*left, *right)
        for a, b in _equalities(join, len(left)):
            if join.kind in _NARROWS_RIGHT:
                self._note(both[a], both[b])
            if join.kind in _NARROWS_LEFT:
                self._note(both[b], both[a])
        above_left = left if join.kind in FILTERS_LEFT else _unmovable(left)
        above_right = right if join.kind in FILTERS_RIGHT else _unmovable(right)
        return (*above_left, *above_right)[: len(join.schema)]

    def _note(self, source: _Origin | None, target: _Origin | None) -> None:
        """Notes the lookup of the target's rows by the source's values, if there is a way."""
        if source is None or target is None or not target.is_filter_movable or source.input == target.input:
            return
        rows = self.inputs[target.input]
        rows = rows.otherwise if isinstance(rows, IndexRange) else rows
        if not isinstance(rows, FullScan | RangeScan) or isinstance(rows.relation, ExternalSource):
            return
        if {source.input, target.input} & self.read_again or isinstance(self.inputs[source.input], SystemRows):
            return
        way = _way(rows.relation, rows.columns, rows.columns[target.place], self.catalog)
        if way is not None:
            self.found.append(Lookup(target.input, source.input, source.place, *way))


def _equalities(join: Join, split: int) -> Iterator[tuple[int, int]]:
    """The columns that the join's condition makes equal, one of the left side and one of the right."""
    for condition in [] if join.condition is None else conjuncts(join.condition):
        match condition:
            case Call("eq", (a, b)):
                one, other = sorted((_column(a), _column(b)))
                if 0 <= one < split <= other:
                    yield one, other


def _column(expr: Expr) -> int:
    """The column that the expression is, perhaps as a wider integer; -1 if it is none."""
    match expr:
        case InputRef(index) if expr.type.kind in _LOOKED_UP:
            return index
        case Cast(InputRef(index) as column, type_) if column.type.kind in _INTEGERS and type_.kind in _INTEGERS:
            return index
    return -1


def _unmovable(origins: _Origins) -> _Origins:
    return tuple(None if each is None else replace(each, is_filter_movable=False) for each in origins)


def _way(
    relation: StoredRelation, columns: Sequence[int], column: int, catalog: Catalog
) -> tuple[StoredRelation, tuple[int, ...]] | None:
    """(The relation or an index of it whose first key column this one is, where it has the columns); None without."""
    place = columns.index(column)
    ways = ((relation, tuple(columns)), *indexes_with(relation, columns, catalog))
    return next((way for way in ways if _begins_with(way[0], way[1][place])), None)


def _begins_with(relation: StoredRelation, column: int) -> bool:
    """Whether the column is the first one of the key, and tells by itself on which shard a row is."""
    table = relation.table
    return bool(table.key) and table.key[0].index == column and {*table.distribution} == {column}
