"""A statement in a WITH whose rows are known by name: the node that stands for it where the others are bound."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp

from risingpy.plan.logical import GivenRows

_ROWS = "rows"  # meta key


class WrittenRows(exp.Expression):
    """What the RETURNING of a statement gives; `rows` is None without RETURNING."""

    arg_types: ClassVar[dict[str, bool]] = {}

    @property
    def rows(self) -> GivenRows | None:
        rows: GivenRows | None = self.meta[_ROWS]
        return rows


def written_rows(rows: GivenRows | None) -> WrittenRows:
    """The node of a statement's rows."""
    node = WrittenRows()
    node.meta[_ROWS] = rows
    return node
