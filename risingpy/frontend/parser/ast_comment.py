"""COMMENT ON as data."""

from __future__ import annotations

from dataclasses import dataclass

from risingpy.frontend.parser.ast_create import FunctionArgument
from risingpy.frontend.parser.ast_parts import ColumnName, ObjectName
from risingpy.frontend.parser.roles.trees import RoleName


@dataclass(frozen=True, slots=True)
class CommentOn:
    """COMMENT ON kind name IS text; None for NULL. `part` is a column or a constraint of the relation called `name`.

    `arguments` are those of a function, None where there is no list. `role` is set of ROLE.
    """

    kind: str
    name: ObjectName
    text: str | None
    part: ColumnName | None = None
    arguments: tuple[FunctionArgument, ...] | None = None
    role: RoleName | None = None
