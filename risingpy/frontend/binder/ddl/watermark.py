"""WATERMARK FOR column AS expression, of a table or a source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from risingpy.errors import DatatypeMismatch, FeatureNotSupported, InvalidTableDefinition, UndefinedColumn
from risingpy.frontend.binder.ddl.generated import renamed_text
from risingpy.frontend.binder.expressions.expression_binder import ExpressionBinder
from risingpy.frontend.binder.scope.columns import relation_scope
from risingpy.frontend.binder.scope.context import BindContext, refuse_system
from risingpy.frontend.parser.ast import CreateSource, CreateTable
from risingpy.functions.volatile import NON_DETERMINISTIC
from risingpy.optimizer.stream.watermarks import WATERMARK_KINDS
from risingpy.plan.catalog import ColumnDesc, Watermark
from risingpy.plan.expression_trees import remapped, walk
from risingpy.plan.expressions import Call
from risingpy.plan.logical import Field
from risingpy.plan.operators import ConflictBehavior

_VOLATILE = NON_DETERMINISTIC | {"now", "volatile_python_function"}


def bind_watermark(
    context: BindContext, statement: CreateTable | CreateSource, columns: Sequence[ColumnDesc]
) -> Watermark | None:
    """The statement's watermark, bound to its columns. Names the mistake where there is one."""
    defined = statement.watermark
    if defined is None:
        return None
    if isinstance(statement, CreateTable):
        _check_table(statement)
    name = defined.column.name
    column = next((column for column in columns if column.name == name), None)
    if column is None:
        raise UndefinedColumn(f'watermark column "{name}" does not exist', position=defined.column.position)
    if column.type.kind not in WATERMARK_KINDS:
        raise FeatureNotSupported(
            f'watermark column "{name}" of type {column.type} is not supported',
            position=defined.column.position,
            hint="It can be a timestamp, a timestamptz, a date or a whole number.",
        )
    fields = [Field(each.name, each.type) for each in columns]
    scope = relation_scope(statement.name.name, None, fields, relation=statement.name.name)
    operand = ExpressionBinder(context, scope, "WATERMARK").bind(defined.expression.tree)
    refuse_system(context.system_uses, "a watermark")
    if operand.type != column.type:
        raise DatatypeMismatch(
            f"the return value type of the watermark expression must be identical to the watermark column's: it is "
            f'{operand.type.name}, column "{name}" is {column.type.name}',
            position=operand.position,
        )
    if any(isinstance(part, Call) and part.function in _VOLATILE for part in walk(operand.expr)):
        message = "watermark expression is not immutable"
        raise InvalidTableDefinition(message, sqlstate="42P17", position=defined.expression.position)
    by_id = remapped(operand.expr, {i: each.column_id for i, each in enumerate(columns)})
    return Watermark(column.column_id, defined.expression.text, by_id)


def _check_table(statement: CreateTable) -> None:
    assert statement.watermark is not None
    position = statement.watermark.position
    if not statement.append_only:
        raise FeatureNotSupported(
            "Defining watermarks on table requires the table to be append only",
            position=position,
            hint="Use the key words `APPEND ONLY`",
        )
    if statement.on_conflict not in (None, ConflictBehavior.IGNORE) or statement.version_column is not None:
        message = "Defining watermarks on table requires ON CONFLICT DO NOTHING: no row may replace an older one"
        raise FeatureNotSupported(message, position=position)


def with_renamed_column(watermark: Watermark, old: str, new: str) -> Watermark:
    """The expression's text with a column under its new name."""
    return replace(watermark, text=renamed_text(watermark.text, old, new))
