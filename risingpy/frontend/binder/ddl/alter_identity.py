"""ALTER COLUMN … ADD GENERATED, SET GENERATED and DROP IDENTITY: the column as it will be."""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from risingpy.errors import SqlError, SyntaxError_
from risingpy.frontend.binder.ddl.identity import wanted_identity
from risingpy.frontend.parser.ast_alter import AddIdentity, DropIdentity, IdentityAction, SetIdentity
from risingpy.plan.catalog import ColumnDesc, Table


def altered_identity(table: Table, column: ColumnDesc, action: IdentityAction) -> tuple[ColumnDesc, str | None]:
    """(The column, a notice). Raises PostgreSQL's errors for a column that cannot be altered so.

    What SetIdentity says of the sequence is not the column's.
    """
    shown, position = f'column "{column.name}" of relation "{table.name}"', action.column.position
    match action:
        case AddIdentity():
            if column.identity is not None:
                raise SqlError(f"{shown} is already an identity column", sqlstate="55000", position=position)
            if column.default is not None or column.generated is not None:
                message = f"{shown} already has a default value"
                raise SqlError(message, sqlstate="55000", position=position)
            if not column.not_null:
                message = f"{shown} must be declared NOT NULL before identity can be added"
                raise SqlError(message, sqlstate="55000", position=position)
            wanted = wanted_identity(action.options, column.type, always=action.always)
            return replace(column, identity=wanted), None
        case SetIdentity():
            if column.identity is None:
                raise SqlError(f"{shown} is not an identity column", sqlstate="55000", position=position)
            always = column.identity.always if action.always is None else action.always
            return replace(column, identity=replace(column.identity, always=always)), None
        case DropIdentity():
            if column.identity is None and action.if_exists:
                return column, f"{shown} is not an identity column, skipping"
            if column.identity is None:
                raise SqlError(f"{shown} is not an identity column", sqlstate="55000", position=position)
            return replace(column, identity=None), None
        case _:
            assert_never(action)


def refuse_identity_column(table: Table, column: ColumnDesc, position: int, hint: str | None = None) -> None:
    """Raises SyntaxError_ for what cannot be done with an identity column."""
    if column.identity is not None:
        message = f'column "{column.name}" of relation "{table.name}" is an identity column'
        raise SyntaxError_(message, position=position, hint=hint)
