"""WATERMARK FOR column AS expression, of a table or a source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from risingpy.errors import DatatypeMismatch, FeatureNotSupported, InvalidTableDefinition, UndefinedColumn
from risingpy.frontend.binder.ddl.generated import renamed_text
from risingpy.frontend.binder.expressions.expression_binder import ExpressionBinder
from risingpy.frontend.binder.scope.columns import relation_scope
from risingpy.frontend.binder.scope.context import BindContext, refuse_system
from risingpy.frontend.parser.ast import CreateSource, CreateTable, WatermarkDefinition
from risingpy.frontend.parser.ast_alter import AlterWatermark
from risingpy.functions.volatile import NON_DETERMINISTIC
from risingpy.optimizer.stream.watermarks import WATERMARK_KINDS
from risingpy.plan.catalog import ColumnDesc, Table, Watermark
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
    elif defined.ttl:
        hint = "A source keeps no rows. CREATE TABLE does."
        raise FeatureNotSupported("WATERMARK … WITH TTL of a source", position=defined.position, hint=hint)
    return _bound(context, statement.name.name, defined, columns)


def altered_watermark(context: BindContext, table: Table, action: AlterWatermark) -> Table:
    """The table with another expression for later rows: what it has reached stays, for a watermark never falls."""
    defined, before = action.watermark, table.watermark
    name = defined.column.name
    column_id = next((column.column_id for column in table.columns if column.name == name), None)
    if before is None or before.column_id != column_id:
        raise InvalidTableDefinition(f'no watermark defined on column "{name}"', position=defined.column.position)
    if defined.ttl != before.ttl:
        raise FeatureNotSupported("toggling WITH TTL of a watermark is not supported", position=defined.position)
    bound = _bound(context, table.name, defined, [column for column in table.columns if not column.hidden])
    return replace(table, watermark=replace(bound, expiry_table=before.expiry_table))


def renamed_in_watermark(table: Table, column_id: int, old: str, new: str) -> Table:
    """The table whose column has another name, in the text of its watermark, too."""
    watermark = table.watermark
    if watermark is None or column_id not in watermark.columns_read:
        return table
    return replace(table, watermark=replace(watermark, text=renamed_text(watermark.text, old, new)))


def _bound(context: BindContext, table: str, defined: WatermarkDefinition, columns: Sequence[ColumnDesc]) -> Watermark:
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
    scope = relation_scope(table, None, fields, relation=table)
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
    return Watermark(column.column_id, defined.expression.text, by_id, ttl=defined.ttl)


def _check_table(statement: CreateTable) -> None:
    assert statement.watermark is not None
    position = statement.watermark.position
    if statement.watermark.ttl and not statement.append_only:  # a row ends before a change of it would be late
        return
    if not statement.append_only:
        raise FeatureNotSupported(
            "Defining watermarks on table requires the table to be append only",
            position=position,
            hint="Use the key words `APPEND ONLY`, or let rows end: WATERMARK … WITH TTL",
        )
    if statement.on_conflict not in (None, ConflictBehavior.IGNORE) or statement.version_columns:
        message = "Defining watermarks on table requires ON CONFLICT DO NOTHING: no row may replace an older one"
        raise FeatureNotSupported(message, position=position)
