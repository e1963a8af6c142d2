"""What a table's rows must satisfy besides its primary key and NOT NULL.

A UNIQUE constraint is an index with a `UniqueRule`, which has its name. The table keeps CHECK and FOREIGN KEY.
Columns are named by their ids, so that ALTER leaves the constraints alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from risingpy.plan.expression_trees import columns_read
from risingpy.plan.expressions import Expr


@dataclass(frozen=True, slots=True)
class UniqueRule:
    """An index whose keys are unique. `is_constraint`: UNIQUE of a table made it, and not CREATE UNIQUE INDEX.

    `deferrable` and `deferred` are as in ForeignKey. `is_primary`: it is a DEFERRABLE PRIMARY KEY, whose table is
    stored by row ids.
    """

    nulls_distinct: bool = True
    is_constraint: bool = False
    deferrable: bool = False
    deferred: bool = False
    is_primary: bool = False


@dataclass(frozen=True, slots=True)
class CheckConstraint:
    """CHECK (text): no row for which the expression is false. Its `InputRef`s count by column id.

    `constraint_id` is its oid. One that is not `validated` (NOT VALID) may be false for rows from before.
    """

    constraint_id: int
    name: str
    text: str
    expression: Expr
    validated: bool = True

    @property
    def column_ids(self) -> frozenset[int]:
        """The columns that it reads."""
        return frozenset(columns_read(self.expression))


class ReferentialAction(Enum):
    """What becomes of the rows that refer to a key that goes. The values are those of pg_constraint.confdeltype."""

    NO_ACTION = "a"
    RESTRICT = "r"
    CASCADE = "c"
    SET_NULL = "n"
    SET_DEFAULT = "d"


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """FOREIGN KEY: the values of `columns` are those of `referenced` in some row of the table `table_id`.

    `referenced` are the columns of that table's primary key or of a unique index (`index_id`, None for the primary
    key). `set_columns` are those that SET NULL and SET DEFAULT of ON DELETE change; empty: all. One that is not
    `enforced` is never looked at. A `deferrable` one may be put off to the end of the transaction, and is if it is
    `deferred` (INITIALLY DEFERRED), unless SET CONSTRAINTS says otherwise. The rest is as in CheckConstraint.
    """

    constraint_id: int
    name: str
    columns: tuple[int, ...]
    table_id: int
    referenced: tuple[int, ...]
    on_delete: ReferentialAction = ReferentialAction.NO_ACTION
    on_update: ReferentialAction = ReferentialAction.NO_ACTION
    set_columns: tuple[int, ...] = ()
    matches_full: bool = False
    index_id: int | None = None
    validated: bool = True
    enforced: bool = True
    deferrable: bool = False
    deferred: bool = False

    @property
    def column_ids(self) -> frozenset[int]:
        """The columns of its own table that it reads."""
        return frozenset(self.columns)


TableConstraint: TypeAlias = CheckConstraint | ForeignKey
