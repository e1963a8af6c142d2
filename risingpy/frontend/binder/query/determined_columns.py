"""GROUP BY a primary key: the table's other columns have one value in each group, so they may stand anywhere.

    SELECT g.id, g.name, count(*) FROM g LEFT JOIN m ON m.g = g.id GROUP BY g.id
    =>  … GROUP BY g.id, g.name

Not for a view or a subquery: its rows have no key. Of several grouping sets, each must have the key, which is NULL in
one that lacks it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set

from risingpy.frontend.binder.query.grouping_sets import GroupKey
from risingpy.frontend.binder.scope.aggregates import AggregateCalls
from risingpy.frontend.binder.scope.columns import Scope, ScopeTable
from risingpy.plan.catalog import Table
from risingpy.plan.expressions import Expr


def with_determined(
    sets: Sequence[Sequence[GroupKey]], scope: Scope, collected: AggregateCalls
) -> Sequence[Sequence[GroupKey]]:
    """The grouping sets, with the columns that the SELECT names and whose table's primary key is in all of the sets."""
    common = {key.expr for key in sets[0]}.intersection(*({key.expr for key in each} for each in sets))
    if not common:
        return sets
    named = {reference for reference, _, _ in collected.references.values()}
    named -= {key.expr for each in sets for key in each}  # a key that one of the sets lacks is NULL there
    found = [GroupKey(expr) for table in scope.tables for expr in _determined(table, common) if expr in named]
    return [[*each, *found] for each in sets]


def _determined(table: ScopeTable, keys: Set[Expr]) -> Iterator[Expr]:
    use = next((column.use for column in table.columns if column.use is not None), None)
    relation = None if use is None else use.relation
    if not isinstance(relation, Table) or not relation.primary_key:
        return
    exprs = {column.column_id: column.expr for column in table.columns if column.use is use}
    if all(exprs.get(relation.columns[place].column_id) in keys for place in relation.primary_key):
        yield from (expr for expr in exprs.values() if expr not in keys)
