"""What each SELECT of a query calls its FROM items, and the types of their columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from risingpy.frontend.binder.scope.columns import UNNAMED, Scope
from risingpy.frontend.binder.trees import name_of
from risingpy.frontend.deparse.notes import Unprinted
from risingpy.frontend.deparse.operands import Typed
from risingpy.functions.topics.texts.text import quote_ident
from risingpy.types import SqlType

UNNAMED_SUBQUERY = "unnamed_subquery"  # as PostgreSQL calls one since 16


@dataclass(frozen=True, slots=True)
class TargetItem:
    """A column of a select list: its name, and its node."""

    name: str
    operand: Typed


@dataclass(slots=True)
class QueryFrame:
    """A SELECT: its names by the aliases that the binder knows, columns' types and new names by alias and name.

    `relisted` are the items of which an alias has to list the columns, since USING needs them by their old names.
    """

    scope: Scope
    names: dict[str, str] = field(default_factory=dict)
    types: dict[tuple[str, str], SqlType] = field(default_factory=dict)
    renamed: dict[tuple[str, str], str] = field(default_factory=dict)
    relisted: set[str] = field(default_factory=set)
    items: list[TargetItem] = field(default_factory=list)


class Frames:
    """The SELECTs around the one that is being written, from the outermost."""

    def __init__(self) -> None:
        self._stack: list[QueryFrame] = []

    @property
    def top(self) -> QueryFrame:
        """The SELECT that is being written."""
        return self._stack[-1]

    def push(self, frame: QueryFrame) -> None:
        """Goes into a SELECT."""
        self._stack.append(frame)

    def pop(self) -> None:
        """Comes out of it."""
        self._stack.pop()

    def scopes(self) -> Iterator[Scope]:
        """The FROM clauses of the SELECT that is being written and of those around it."""
        return (frame.scope for frame in reversed(self._stack))

    def of(self, alias: str, depth: int) -> QueryFrame:
        """The frame whose FROM has the alias: the top one for depth 0, else the nearest around.

        In an aggregate or GROUPING of a query around, the depth counts from there.
        """
        if depth == 0 and (alias in self.top.names or len(self._stack) == 1):
            return self.top
        for frame in reversed(self._stack[:-1]):
            if alias in frame.names:
                return frame
        if alias in self.top.names:  # the binder has made a subquery of a part of FROM
            return self.top
        raise Unprinted("a column of a query around")

    def name_items(self, frame: QueryFrame, aliases: Iterator[str]) -> None:
        """Gives each FROM item a name that no item of the SELECTs around has: t, t_1, …"""
        taken = {name for each in self._stack for name in each.names.values()}
        for alias in aliases:
            if alias in frame.names:
                raise Unprinted("two items of one name")
            base = name = UNNAMED_SUBQUERY if alias == UNNAMED else alias
            number = 0
            while name in taken:
                number += 1
                name = f"{base}_{number}"
            taken.add(name)
            frame.names[alias] = name


def column_names(tree: exp.Expr) -> list[str]:
    """The columns that the alias of an item lists."""
    alias = tree.args.get("alias")
    columns = (alias.args.get("columns") or []) if alias is not None else []
    return [name_of(column.this if isinstance(column, exp.ColumnDef) else column) for column in columns]


def listed(names: Sequence[str]) -> str:
    """`(a, b)`; nothing of no names."""
    return f"({', '.join(map(quote_ident, names))})" if names else ""
