"""What the binder found while it bound a query: the meaning of each node of the tree, by the node.

The table of node binders is the binder's own, with each function wrapped. Nodes are known by their numbers in the tree,
which the copies have that the binder makes of some.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from sqlglot import exp

from risingpy.errors import UndefinedColumn, UndefinedTable
from risingpy.frontend.binder.expressions.expression_binder import ExpressionBinder
from risingpy.frontend.binder.scope.columns import Scope, ScopeColumn, ScopeTable
from risingpy.frontend.binder.scope.context import NodeBinders
from risingpy.frontend.binder.trees import NUMBER, name_of, number_of, position_of
from risingpy.frontend.binder.typing.type_names import BUILT_IN_TYPES, KnownTypes
from risingpy.plan.expressions import Expr


class Unprinted(Exception):
    """What PostgreSQL has no form for, or this package does not know."""


@dataclass(frozen=True, slots=True)
class NotedColumn:
    """A column's FROM item (None: merged of two), and the column there. `depth`: of which query around, 0 its own."""

    table: ScopeTable | None
    column: ScopeColumn
    depth: int


@dataclass(slots=True)
class Notes:
    """The notes of one query, the tree of which was numbered before it was bound."""

    types: KnownTypes = BUILT_IN_TYPES  # that the query may name
    scopes: dict[int, Scope] = field(default_factory=dict)
    tree: exp.Expr | None = None  # of an expression that was bound alone
    _exprs: dict[int, Expr] = field(default_factory=dict)
    _columns: dict[int, NotedColumn] = field(default_factory=dict)

    def number(self, tree: exp.Expr) -> None:
        """Gives the nodes their numbers."""
        for number, node in enumerate(tree.walk()):
            node.meta[NUMBER] = number

    def expr(self, tree: exp.Expr) -> Expr:
        """What a node was bound to."""
        found = self._exprs.get(number_of(tree))
        if found is None:
            raise Unprinted(tree.key)
        return found

    def column(self, tree: exp.Column) -> NotedColumn:
        """What a column's name means."""
        found = self._columns.get(number_of(tree))
        if found is None:
            raise Unprinted("a name that is no column")
        return found

    def scope(self, tree: exp.Select) -> Scope:
        """What the FROM clause of a SELECT offers."""
        found = self.scopes.get(number_of(tree))
        if found is None:
            raise Unprinted("a query that was bound as another tree")
        return found

    def binders(self, plain: NodeBinders) -> NodeBinders:
        """The binders, which note what they make."""
        return {kind: self._noting(bind) for kind, bind in plain.items()}

    def _noting(self, bind: Callable[..., Expr]) -> Callable[..., Expr]:
        def noted(binder: ExpressionBinder, tree: exp.Expr) -> Expr:
            made = bind(binder, tree)
            if NUMBER not in tree.meta:  # the binder has made it
                return made
            self._exprs[number_of(tree)] = made
            if isinstance(tree, exp.Column):
                meant = _meaning(binder, tree)
                if meant is not None:
                    self._columns[number_of(tree)] = meant
            return made

        return noted


def _meaning(binder: Any, tree: exp.Column) -> NotedColumn | None:
    depth = 0
    while binder is not None:
        try:
            column = _found(binder.scope, tree)
        except (UndefinedColumn, UndefinedTable):
            binder = None if binder.context.outer is None else binder.context.outer.binder
            depth += 1
            continue
        return NotedColumn(table_of(binder.scope, column), column, depth)
    return None


def _found(scope: Scope, tree: exp.Column) -> ScopeColumn:
    table = tree.args.get("table")
    if table is None:
        return scope.column(name_of(tree.this), position_of(tree))
    schema = name_of(tree.args.get("db")) or None
    return scope.qualified(schema, name_of(table), name_of(tree.this), position_of(tree))


def table_of(scope: Scope, column: ScopeColumn) -> ScopeTable | None:
    """The FROM item that a column comes from."""
    for table in scope.tables:
        if column.parts and table.alias == column.name:
            return table
        if any(each.name == column.name and each.expr == column.expr for each in table.columns):
            return table
    return None
