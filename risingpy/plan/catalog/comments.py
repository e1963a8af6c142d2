"""COMMENT ON: texts about objects.

A comment names its object by id, and ids are never given twice: so a comment whose object is gone is not found any
more, and renames change nothing. Schemas have no ids: theirs are kept by name.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from risingpy.plan.catalog.columns import ColumnDesc
from risingpy.plan.catalog.databases import DEFAULT_DATABASE_ID
from risingpy.storage.codec.table_schema import TableColumn

COMMENTS_AT_FIRST = {"pg_catalog": "system catalog schema", "public": "standard public schema"}
"""What a database says of its schemas until somebody comments on them. An empty text says that it is taken away."""


class CommentedKind(Enum):
    """What a comment is on. The value is the system catalog that PostgreSQL has such objects in."""

    RELATION = "pg_class"  # also a column, if `part` is not 0
    CONSTRAINT = "pg_constraint"
    FUNCTION = "pg_proc"
    SCHEMA = "pg_namespace"
    DATABASE = "pg_database"
    ROLE = "pg_authid"
    TYPE = "pg_type"


@dataclass(frozen=True, slots=True)
class CommentDesc:
    """`object_id` is the object's id (0 for a schema, which has a `name`), and `part` the id of a column of it."""

    comment_id: int
    kind: CommentedKind
    object_id: int
    text: str
    part: int = 0
    name: str = ""
    database_id: int = DEFAULT_DATABASE_ID


def ids_of_column(column: ColumnDesc | TableColumn) -> Iterator[int]:
    """The column's id, and those that it had before ALTER … TYPE."""
    yield column.column_id
    if column.history is not None and column.history.earlier is not None:
        yield from ids_of_column(column.history.earlier)
