"""ALTER as data: what is altered, and one frozen class an action."""

from __future__ import annotations

from dataclasses import dataclass

from risingpy.frontend.parser.ast_constraints import (
    CheckDefinition,
    ConstraintDefinition,
    ForeignKeyDefinition,
    UniqueDefinition,
)
from risingpy.frontend.parser.ast_create import FunctionArgument, OptionPlace, OptionReference, OptionText
from risingpy.frontend.parser.ast_parts import (
    ColumnDefinition,
    ColumnName,
    Expression,
    ObjectName,
    SequenceOptions,
    TypeName,
    WatermarkDefinition,
)
from risingpy.plan.catalog import RelationClass


@dataclass(frozen=True, slots=True)
class AddColumn:
    """ADD [COLUMN] [IF NOT EXISTS] definition. `constraints` are those of the column."""

    column: ColumnDefinition
    if_not_exists: bool = False
    constraints: tuple[ConstraintDefinition, ...] = ()


@dataclass(frozen=True, slots=True)
class DropColumn:
    """DROP [COLUMN] [IF EXISTS] name [CASCADE]."""

    column: ColumnName
    if_exists: bool = False
    cascade: bool = False


@dataclass(frozen=True, slots=True)
class RenameColumn:
    """RENAME [COLUMN] column TO name."""

    column: ColumnName
    name: ColumnName


@dataclass(frozen=True, slots=True)
class WithoutEffect:
    """What PostgreSQL stores about rows on disk, and nothing here: `what` as the notice calls it."""

    what: str
    column: ColumnName | None = None


@dataclass(frozen=True, slots=True)
class SetDefault:
    """ALTER COLUMN … SET DEFAULT value; None for DROP DEFAULT."""

    column: ColumnName
    value: Expression | None


@dataclass(frozen=True, slots=True)
class AddIdentity:
    """ALTER COLUMN … ADD GENERATED ALWAYS | BY DEFAULT AS IDENTITY (options)."""

    column: ColumnName
    always: bool
    options: SequenceOptions


@dataclass(frozen=True, slots=True)
class SetIdentity:
    """ALTER COLUMN … SET GENERATED …, SET option, RESTART. `always` is None if it stays as it is."""

    column: ColumnName
    always: bool | None
    options: tuple[SequenceOptions, ...]


@dataclass(frozen=True, slots=True)
class DropIdentity:
    """ALTER COLUMN … DROP IDENTITY [IF EXISTS]."""

    column: ColumnName
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class SetNotNull:
    """ALTER COLUMN … SET NOT NULL, DROP NOT NULL."""

    column: ColumnName
    not_null: bool


@dataclass(frozen=True, slots=True)
class SetType:
    """ALTER COLUMN … [SET DATA] TYPE type [USING expression]."""

    column: ColumnName
    type: TypeName
    using: Expression | None


@dataclass(frozen=True, slots=True)
class AddConstraint:
    """ADD [CONSTRAINT name] definition."""

    definition: UniqueDefinition | CheckDefinition | ForeignKeyDefinition


@dataclass(frozen=True, slots=True)
class DropConstraint:
    """DROP CONSTRAINT [IF EXISTS] name [CASCADE]."""

    name: ColumnName
    if_exists: bool = False
    cascade: bool = False


@dataclass(frozen=True, slots=True)
class RenameConstraint:
    """RENAME CONSTRAINT name TO new_name."""

    name: ColumnName
    new_name: ColumnName


@dataclass(frozen=True, slots=True)
class ValidateConstraint:
    """VALIDATE CONSTRAINT name."""

    name: ColumnName


ConstraintAction = AddConstraint | DropConstraint | RenameConstraint | ValidateConstraint
IdentityAction = AddIdentity | SetIdentity | DropIdentity


@dataclass(frozen=True, slots=True)
class AlterWatermark:
    """ALTER WATERMARK FOR column AS expression [WITH TTL]: the expression for later rows."""

    watermark: WatermarkDefinition


@dataclass(frozen=True, slots=True)
class SetEndOfRows:
    """SET (ttl = …) or SET (retention_seconds = …): `option` is its name."""

    option: str
    given: OptionText


@dataclass(frozen=True, slots=True)
class ResetTtl:
    """RESET (ttl): rows stay from now on."""


@dataclass(frozen=True, slots=True)
class SetRowTimestamp:
    """SET (row_timestamp = …): whether the table keeps when its rows were written. `given` is None: RESET of it."""

    given: OptionText | None


@dataclass(frozen=True, slots=True)
class AddPrimaryKey:
    """ALTER TABLE name ADD [CONSTRAINT key_name] PRIMARY KEY (columns). `position` is that of the action.

    It is a statement of its own, or an action among others of ALTER TABLE.
    """

    name: ObjectName
    columns: tuple[ColumnName, ...]
    position: int
    if_exists: bool = False
    key_name: str | None = None


AlterAction = (
    AddColumn
    | AddPrimaryKey
    | DropColumn
    | RenameColumn
    | SetDefault
    | SetNotNull
    | SetType
    | ConstraintAction
    | IdentityAction
    | AlterWatermark
    | SetEndOfRows
    | ResetTtl
    | SetRowTimestamp
)


@dataclass(frozen=True, slots=True)
class AlterTable:
    """ALTER TABLE with actions on columns: all of them or none."""

    name: ObjectName
    actions: tuple[AlterAction | WithoutEffect, ...]
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class AlterRelation:
    """ALTER TABLE | VIEW | … RENAME TO new_name, SET SCHEMA new_schema, or SWAP WITH swapped.

    With `column`, of views, `new_name` is the column's.
    """

    kind: RelationClass
    name: ObjectName
    new_name: ColumnName | None = None
    new_schema: ColumnName | None = None
    if_exists: bool = False
    swapped: ObjectName | None = None
    column: ColumnName | None = None


@dataclass(frozen=True, slots=True)
class AlterFunction:
    """ALTER FUNCTION | AGGREGATE | PROCEDURE | ROUTINE (`noun`) name RENAME TO new_name, or SET SCHEMA new_schema.

    `arguments` is None without a list.
    """

    noun: str
    name: ObjectName
    arguments: tuple[FunctionArgument, ...] | None
    new_name: ColumnName | None = None
    new_schema: ColumnName | None = None


@dataclass(frozen=True, slots=True)
class AlterSource:
    """ALTER SOURCE name SET source_rate_limit = n; `value` is the text, DEFAULT for none."""

    name: ObjectName
    option: str
    value: str
    position: int
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class AlterSourceColumns:
    """ALTER SOURCE name ADD [COLUMN] …; or ALTER SOURCE | TABLE name REFRESH SCHEMA, and then `added` is None."""

    kind: RelationClass
    name: ObjectName
    added: AddColumn | None
    position: int
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class AlterSink:
    """ALTER SINK name SET option = value, or CONNECTOR WITH (…). `position` is that of the first option.

    `option_places` and `references` are as in CreateSource.
    """

    name: ObjectName
    options: tuple[tuple[str, str], ...]
    position: int
    if_exists: bool = False
    option_places: tuple[OptionPlace, ...] = ()
    references: tuple[OptionReference, ...] = ()


@dataclass(frozen=True, slots=True)
class AlterConnector:
    """ALTER SOURCE | TABLE name CONNECTOR WITH (…). The rest is as in AlterSink."""

    kind: RelationClass
    name: ObjectName
    options: tuple[tuple[str, str], ...]
    position: int
    if_exists: bool = False
    option_places: tuple[OptionPlace, ...] = ()
    references: tuple[OptionReference, ...] = ()


@dataclass(frozen=True, slots=True)
class AlterConnection:
    """ALTER CONNECTION name CONNECTOR WITH (…). The rest is as in AlterSink."""

    name: ObjectName
    options: tuple[tuple[str, str], ...]
    position: int
    option_places: tuple[OptionPlace, ...] = ()
    references: tuple[OptionReference, ...] = ()


@dataclass(frozen=True, slots=True)
class AlterSecret:
    """ALTER SECRET name [WITH (backend = 'meta')] AS value. `option_places` has the place of the value."""

    name: ObjectName
    backend: str
    value: str
    position: int
    option_places: tuple[OptionPlace, ...] = ()


@dataclass(frozen=True, slots=True)
class AlterSequence:
    """ALTER SEQUENCE name options."""

    name: ObjectName
    options: SequenceOptions
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class AlterSubscription:
    """ALTER SUBSCRIPTION name SET option = value. `position` is that of the option."""

    name: ObjectName
    option: tuple[str, str]
    position: int
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class AlterSystem:
    """ALTER SYSTEM SET name TO value; `value` is None for DEFAULT."""

    name: str
    value: str | None
    position: int
