"""INSERT, UPDATE and DELETE as common table expressions: nodes that stand where sqlglot has a query."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from sqlglot import exp

if TYPE_CHECKING:
    from risingpy.frontend.parser.ast_dml import Delete, Insert, Update

_STATEMENT = "statement"  # meta key


class WriteInWith(exp.Expression):
    """The query of `WITH name AS (DELETE … RETURNING …)`."""

    arg_types: ClassVar[dict[str, bool]] = {}

    @property
    def statement(self) -> Insert | Update | Delete:
        """What it runs."""
        statement: Insert | Update | Delete = self.meta[_STATEMENT]
        return statement


def write_in_with(statement: Insert | Update | Delete) -> WriteInWith:
    """The node of a statement."""
    node = WriteInWith()
    node.meta[_STATEMENT] = statement
    return node
