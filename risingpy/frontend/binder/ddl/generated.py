"""Generated columns: `c INT GENERATED ALWAYS AS (a + b) STORED`, or RisingWave's shorter `c INT AS (a + b)`.

The expression reads the row's other columns. The session computes it for every row that is written to a table, and a
projection over the source for every row that is read of one. proctime() is when that happens: the statement's time, or
that of the epoch which reads the row of the source.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from sqlglot import exp

from risingpy.errors import DatatypeMismatch, InvalidTableDefinition, SyntaxError_
from risingpy.frontend.binder.expressions.expression_binder import ExpressionBinder
from risingpy.frontend.binder.functions.special import GENERATION
from risingpy.frontend.binder.scope.columns import relation_scope
from risingpy.frontend.binder.scope.context import BindContext, refuse_system
from risingpy.frontend.binder.trees import name_of, position_of
from risingpy.frontend.binder.typing.coercion import Context, can_coerce
from risingpy.frontend.binder.typing.names_of_types import text_with_schemas
from risingpy.frontend.parser.ast import CreateSource, CreateTable
from risingpy.frontend.parser.ast_parts import ColumnDefinition
from risingpy.frontend.parser.parse import parse_expression
from risingpy.frontend.table_definition import quoted
from risingpy.functions.volatile import NON_DETERMINISTIC
from risingpy.plan.catalog import ColumnDesc, Generated, Table
from risingpy.plan.expression_trees import columns_read, remapped, walk
from risingpy.plan.expressions import Call
from risingpy.plan.logical import Field
from risingpy.sql_quoting import double_quoted

_PROCTIME = "proctime"
_VOLATILE = (NON_DETERMINISTIC | {"now"}) - {_PROCTIME}


def with_generated(
    context: BindContext, statement: CreateTable | CreateSource, columns: tuple[ColumnDesc, ...]
) -> tuple[ColumnDesc, ...]:
    """The columns, those with an expression bound to the others."""
    definitions = statement.columns
    generated = frozenset(each.name for each in definitions if each.generated is not None)
    if not generated:
        return columns
    return tuple(
        column
        if definition.generated is None
        else bound_generated(context, statement.name.name, definition, column, columns, generated)
        for column, definition in zip(columns, definitions, strict=True)
    )


def bound_generated(
    context: BindContext,
    table: str,
    definition: ColumnDefinition,
    column: ColumnDesc,
    columns: Sequence[ColumnDesc],
    generated: Collection[str],
) -> ColumnDesc:
    """A column of the table, with its expression bound to all `columns`, of which some are `generated`."""
    assert definition.generated is not None
    if definition.default is not None:
        name = column.name
        message = f'both default and generation expression specified for column "{name}" of table "{table}"'
        raise SyntaxError_(message, position=definition.position)
    for read in definition.generated.tree.find_all(exp.Column):
        if name_of(read.this) in generated:
            raise InvalidTableDefinition(
                f'cannot use generated column "{name_of(read.this)}" in column generation expression',
                sqlstate="42P17",
                detail="A generated column cannot reference another generated column.",
                position=position_of(read),
            )
    fields = [Field(each.name, each.type) for each in columns]
    scope = relation_scope(table, None, fields, relation=table)
    operand = ExpressionBinder(context, scope, GENERATION).bind(definition.generated.tree)
    refuse_system(context.system_uses, "a generated column")
    if not can_coerce(operand.type, column.type, Context.ASSIGNMENT):
        wanted, given = column.type.kind.value, operand.type.kind.value
        raise DatatypeMismatch(
            f'column "{column.name}" is of type {wanted} but default expression is of type {given}',
            position=operand.position,
            hint="You will need to rewrite or cast the expression.",
        )
    expression = context.coercer.assign(operand, column.type)
    if any(isinstance(part, Call) and part.function in _VOLATILE for part in walk(expression)):
        message = "generation expression is not immutable"
        raise InvalidTableDefinition(message, sqlstate="42P17", position=definition.generated.position)
    by_id = remapped(expression, {i: each.column_id for i, each in enumerate(columns)})
    return replace(column, generated=Generated(text_with_schemas(definition.generated, context.types), by_id))


def refuse_processing_time(
    statement: CreateTable | CreateSource, columns: Sequence[ColumnDesc], key: Sequence[int]
) -> None:
    """Raises InvalidTableDefinition for a key with proctime(): a row that is written again would be another row."""
    for i in key:
        generated = columns[i].generated
        if generated is not None and any(
            isinstance(part, Call) and part.function == _PROCTIME for part in walk(generated.expression)
        ):
            message = f'generated column "{columns[i].name}" with proctime() cannot be part of the primary key'
            raise InvalidTableDefinition(message, position=statement.columns[i].position)


def generated_from(relation: Table, column_id: int) -> list[ColumnDesc]:
    """The generated columns that read a column."""
    generated = [column for column in relation.columns if column.generated is not None]
    return [c for c in generated if c.generated is not None and column_id in columns_read(c.generated.expression)]


def with_renamed_column(generated: Generated, old: str, new: str) -> Generated:
    """The expression's text with a column under its new name."""
    return replace(generated, text=renamed_text(generated.text, old, new))


def renamed_text(text: str, old: str, new: str) -> str:
    """The text of an expression with a column under its new name."""
    tree = parse_expression(text).tree
    places = sorted({position_of(c) - 1 for c in tree.find_all(exp.Column) if name_of(c.this) == old}, reverse=True)
    for start in places:
        length = len(old) if text[start] != '"' else len(double_quoted(old))
        text = text[:start] + quoted(new) + text[start + length :]
    return text
