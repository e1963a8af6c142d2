"""The table that a statement writes to, its columns, and what may stand in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from risingpy.errors import (
    DatatypeMismatch,
    SqlError,
    SyntaxError_,
    UndefinedColumn,
    WrongObjectType,
)
from risingpy.frontend.binder.ddl.create import bind_default, visible_columns
from risingpy.frontend.binder.query.relations import find_relation
from risingpy.frontend.binder.scope.context import BindContext
from risingpy.frontend.binder.scope.uses import new_target
from risingpy.frontend.binder.typing.coercion import Context, Operand, can_coerce
from risingpy.frontend.parser.ast import ColumnName, ObjectName
from risingpy.frontend.parser.ast_parts import FieldStep, SubscriptStep, TargetColumn
from risingpy.plan.catalog import ColumnDesc, Index, Table
from risingpy.plan.expressions import Expr, Literal


def target_relation(context: BindContext, name: ObjectName, verb: str) -> Table:
    """The table of that name, noted as a dependency. Raises UndefinedTable, WrongObjectType."""
    relation = find_relation(context, name.name, name.schema, name.position)
    if isinstance(relation, Index):
        detail = "This operation is not supported for indexes."
        raise WrongObjectType(f'cannot open relation "{relation.name}"', detail=detail, position=name.position)
    if not isinstance(relation, Table):
        message = f'cannot {verb} {relation.noun} "{relation.name}"'
        raise WrongObjectType(message, position=name.position)
    context.dependencies.append(relation.relation_id)
    context.uses.append(new_target(relation))
    return relation


def column_index(relation: Table, column: ColumnName, table: ObjectName) -> int:
    """Where a visible column stands in the relation. Raises UndefinedColumn."""
    for i in visible_columns(relation):
        if relation.columns[i].name == column.name:
            return i
    message = f'column "{column.name}" of relation "{table.name}" does not exist'
    raise UndefinedColumn(message, position=column.position)


def steps_of(column: ColumnName) -> tuple[FieldStep | SubscriptStep, ...]:
    """What leads to the part of the column that a statement assigns to; nothing to all of it."""
    return column.steps if isinstance(column, TargetColumn) else ()


def target_columns(relation: Table, names: Sequence[ColumnName] | None, table: ObjectName) -> list[int]:
    """Where the columns that a statement lists stand, all visible ones if it lists none. Raises SqlError."""
    if names is None:
        return visible_columns(relation)
    targets: list[int] = []
    for column in names:
        index = column_index(relation, column, table)
        if index in targets and not (steps_of(column) and steps_of(names[targets.index(index)])):
            message = f'column "{column.name}" specified more than once'
            raise SqlError(message, sqlstate="42701", position=column.position)
        targets.append(index)
    return targets


def default_of(context: BindContext, relation: Table, index: int) -> Expr:
    """What a column has in a row that does not give it: its default, or NULL."""
    column = relation.columns[index]
    default = bind_default(column, context.catalog, session=context.session)
    return Literal(None, column.type) if default is None else default


def with_given_numbers(relation: Table) -> Table:
    """The relation as OVERRIDING sees it: rows may bring a number for any identity column."""
    columns = [
        column if column.identity is None else replace(column, identity=replace(column.identity, always=False))
        for column in relation.columns
    ]
    return replace(relation, columns=tuple(columns))


def check_width(width: int, targets: list[int], positions: list[int], columns: Sequence[ColumnName] | None) -> None:
    """Raises SyntaxError_ unless so many values fit the columns at `targets`.

    `positions` are the expressions'; `columns` is the list that INSERT names, None if it names none.
    """
    if width > len(targets):
        message = "INSERT has more expressions than target columns"
        raise SyntaxError_(message, position=positions[len(targets)])
    if columns is not None and width < len(targets):
        raise SyntaxError_("INSERT has more target columns than expressions", position=columns[width].position)


def generated_always(message: str, column: ColumnDesc) -> SqlError:
    """The error for a value of a column that computes its own."""
    kind = "a generated column" if column.identity is None else "an identity column defined as GENERATED ALWAYS"
    return SqlError(message, sqlstate="428C9", detail=f'Column "{column.name}" is {kind}.')


def is_given(column: ColumnDesc) -> bool:
    """Whether rows may say what stands in the column."""
    return column.generated is None and not (column.identity is not None and column.identity.always)


def assigned(context: BindContext, operand: Operand, relation: Table, index: int) -> Expr:
    """A value as the column stores it. Raises DatatypeMismatch; SqlError for a generated column."""
    column = relation.columns[index]
    if not is_given(column):
        error = generated_always(f'cannot insert a non-DEFAULT value into column "{column.name}"', column)
        error.hint = None if column.identity is None else "Use OVERRIDING SYSTEM VALUE to override."
        raise error
    operand = context.coercer.as_deep_as(operand, column.type)
    if not can_coerce(operand.type, column.type, Context.ASSIGNMENT):
        wanted, given = column.type.name, operand.type.name
        message = f'column "{column.name}" is of type {wanted} but expression is of type {given}'
        hint = "You will need to rewrite or cast the expression."
        raise DatatypeMismatch(message, position=operand.position, hint=hint)
    return context.coercer.assign(operand, column.type)
