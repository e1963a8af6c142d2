"""CREATE SEQUENCE: what a sequence counts. Where it stands: see `meta/writing/sequence_counters.py`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from risingpy.plan.catalog.any_relation import AnyRelation
from risingpy.plan.catalog.columns import ColumnDesc, Counting
from risingpy.sql_quoting import double_quoted
from risingpy.types import BIGINT, BOOLEAN

COLUMNS = (
    ColumnDesc(1, "last_value", BIGINT, not_null=True),
    ColumnDesc(2, "log_cnt", BIGINT, not_null=True),
    ColumnDesc(3, "is_called", BOOLEAN, not_null=True),
)
"""The columns of the only row of every sequence, as PostgreSQL has them."""


@dataclass(frozen=True, slots=True)
class OwningColumn:
    """The column with which a sequence is dropped. With `is_identity` it is the column's own, and not dropped alone."""

    table_id: int
    column_id: int
    is_identity: bool = False


@dataclass(frozen=True, slots=True)
class NumberSequence(AnyRelation):
    """A sequence of numbers, of which `nextval` gives each once.

    `restarted` is where it counts since a transaction has restarted it: a counter of its own, as PostgreSQL makes a new
    file, so that a rollback leaves the old one.
    """

    noun: ClassVar[str] = "sequence"

    counting: Counting = field(kw_only=True)
    owned_by: OwningColumn | None = field(default=None, kw_only=True)

    restarted: int = field(default=0, kw_only=True)

    @property
    def counter_id(self) -> int:
        """Under which its position is stored."""
        return self.restarted or self.relation_id

    @property
    def depends_on(self) -> tuple[int, ...]:
        return ()

    @property
    def definition(self) -> str:
        """The CREATE statement, with every option."""
        counting = self.counting
        options = (
            f"AS {counting.type.name} START WITH {counting.start} INCREMENT BY {counting.increment}",
            f"MINVALUE {counting.minimum} MAXVALUE {counting.maximum} CACHE {counting.cache}",
            "CYCLE" if counting.cycles else "NO CYCLE",
        )
        name = f"{double_quoted(self.schema_name)}.{double_quoted(self.name)}"
        return f"CREATE SEQUENCE {name} {' '.join(options)}"
