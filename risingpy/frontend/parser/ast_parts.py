"""What statements are made of: names, types, queries, expressions, column definitions."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Literal

from sqlglot import exp

from risingpy.plan.catalog.domains import DomainType
from risingpy.types import SqlType


@dataclass(frozen=True, slots=True)
class ObjectName:
    """A relation's or a function's name, perhaps with its schema and its database (`binder/database_names.py`)."""

    name: str
    schema: str | None
    position: int
    database: str | None = None

    def __str__(self) -> str:
        return self.name if self.schema is None else f"{self.schema}.{self.name}"


@dataclass(frozen=True, slots=True)
class ColumnName:
    """A column that a statement names, and where."""

    name: str
    position: int


@dataclass(frozen=True, slots=True)
class FieldStep:
    """`.name`: from a composite value to a field of it."""

    name: str
    position: int


@dataclass(frozen=True, slots=True)
class SubscriptStep:
    """`[index]` or `[lower:upper]`: from an array to elements, or from a jsonb to a member. `tree` is a Subscript."""

    tree: exp.Expr
    position: int


@dataclass(frozen=True, slots=True)
class TargetColumn(ColumnName):
    """A column that a statement assigns to: all of it, or the part to which `steps` lead."""

    steps: tuple[FieldStep | SubscriptStep, ...] = ()


@dataclass(frozen=True, slots=True)
class TypeName:
    """A type as written, blanks normalized: `character varying (3)`. `binder.types.resolve_type` understands it.

    `resolved` is the type of a column that nobody wrote: one of a source's schema, or of the model of LIKE, which may
    be of a domain.
    """

    text: str
    position: int
    resolved: SqlType | None = None
    domain: DomainType | None = None


@dataclass(frozen=True, slots=True)
class Query:
    """A query: its tree, its text as written, and where that begins."""

    tree: exp.Expr
    text: str
    position: int


@dataclass(frozen=True, slots=True)
class Expression:
    """An expression, or an item of a RETURNING list (then perhaps with an alias, or a star)."""

    tree: exp.Expr
    text: str
    position: int


NONE: Literal["NONE"] = "NONE"
OptionValue = int | bool | None | TypeName | ObjectName | tuple[ColumnName, ...] | Literal["NONE"]


@dataclass(frozen=True, slots=True)
class SequenceOptions:
    """The options of a sequence by their words, as PostgreSQL has them: `("START", 10), ("CYCLE", True)`.

    None is what NO MINVALUE, NO MAXVALUE and RESTART without a number say. OWNED BY has names, or is `NONE`.
    """

    given: tuple[tuple[str, OptionValue], ...] = ()
    position: int = 0


@dataclass(frozen=True, slots=True)
class ColumnDefinition:
    """A column of CREATE TABLE, CREATE SOURCE or ADD COLUMN.

    `generated` is the expression of a computed column, `default` that of DEFAULT. `identity` says who numbers the
    rows: the table ALWAYS, or BY DEFAULT if a row brings no number; `numbering` counts only with it. `key_name` is the
    name of PRIMARY KEY's constraint, `collation` that of COLLATE. `says_null`: it has the word NULL, which counts in a
    primary key.
    """

    name: str
    type: TypeName
    position: int
    not_null: bool = False
    primary_key: bool = False
    default: Expression | None = None
    generated: Expression | None = None
    identity: Literal["ALWAYS", "BY DEFAULT"] | None = None
    numbering: SequenceOptions = SequenceOptions()
    key_name: str | None = None
    collation: ObjectName | None = None
    says_null: bool = False


class OnCommit(Enum):
    """ON COMMIT: what the end of a transaction does to a temporary table."""

    PRESERVE_ROWS = "PRESERVE ROWS"
    DELETE_ROWS = "DELETE ROWS"
    DROP = "DROP"


@dataclass(frozen=True, slots=True)
class WatermarkDefinition:
    """WATERMARK FOR column AS expression [WITH TTL]."""

    column: ColumnName
    expression: Expression
    position: int
    ttl: bool = False


@dataclass(frozen=True, slots=True)
class FunctionBody:
    """The statements, as a text; `unquoted` if they are those of BEGIN ATOMIC, or the SELECT of what RETURN says.

    From the position on stands what follows the first `added` characters.
    """

    text: str
    position: int
    unquoted: bool = False
    added: int = 0
