"""ALTER COLUMN … TYPE and ADD COLUMN: how old values become new ones, and the domains of columns."""

from __future__ import annotations

from risingpy.errors import DatatypeMismatch, FeatureNotSupported
from risingpy.frontend.binder.ddl.alter_constraints import RowCheck
from risingpy.frontend.binder.ddl.constraints import refuse_special
from risingpy.frontend.binder.ddl.fields_by_name import with_fields_of
from risingpy.frontend.binder.ddl.generated import generated_from
from risingpy.frontend.binder.expressions.expression_binder import ExpressionBinder
from risingpy.frontend.binder.plans import project
from risingpy.frontend.binder.query.relations import scan
from risingpy.frontend.binder.scope.columns import relation_scope
from risingpy.frontend.binder.scope.context import BindContext, refuse_system
from risingpy.frontend.binder.typing.coercion import Context, Operand, can_coerce
from risingpy.frontend.binder.typing.domain_names import domain_named, shows_text
from risingpy.frontend.binder.typing.type_names import is_text_name
from risingpy.frontend.parser.ast_alter import SetType
from risingpy.frontend.parser.ast_parts import TypeName
from risingpy.plan.catalog import Catalog, ColumnDesc, DomainType, Table
from risingpy.plan.catalog.domains import domain_rules
from risingpy.plan.domain_casts import cast_to_domain
from risingpy.plan.expression_trees import columns_read, remapped
from risingpy.plan.expressions import Expr, InputRef, Literal
from risingpy.plan.logical import LogicalPlan
from risingpy.types import SqlType


def special_role(table: Table, index: int) -> tuple[str | None, str | None]:
    """(Why a column must stay as it is, a hint): the table's key, its versions or its watermark stand on it."""
    column_id, watermark, hint = table.columns[index].column_id, table.watermark, None
    webhook, source = table.webhook, table.source
    reason = None
    if index in table.primary_key:
        reason = "it is part of the primary key"
        hint = "Create a new table with another key, and INSERT … SELECT the rows."
    elif column_id in table.version_columns:
        reason = "it is a version column of the table"
    elif watermark is not None and column_id in watermark.columns_read:
        reason = "the watermark of the table reads it"
    elif webhook is not None and column_id in webhook.filled:
        reason = "the webhook of the table fills it"
    elif source is not None and any(part.column_id == column_id for part in source.included):
        reason = "it is a part of the messages that feed the table"
    return reason, hint


def refuse_generated(relation: Table, column: ColumnDesc) -> None:
    """Raises FeatureNotSupported for a generated column, and for one that generated columns read."""
    users = generated_from(relation, column.column_id)
    if users:
        raise FeatureNotSupported(
            "cannot alter type of a column used by a generated column",
            detail=f'Column "{column.name}" is used by generated column "{users[0].name}".',
        )
    if column.generated is not None:
        raise FeatureNotSupported(f'ALTER TYPE of generated column "{column.name}" is not supported')


def cast_to_type(context: BindContext, relation: Table, action: SetType, index: int, sql_type: SqlType) -> Expr:
    """The new value from the old one, which is the expression's only column."""
    column = relation.columns[index]
    if action.using is None:
        stored = with_fields_of(InputRef(0, column.type), sql_type)
        if not can_coerce(stored.type, sql_type, Context.ASSIGNMENT):
            raise DatatypeMismatch(
                f'column "{column.name}" cannot be cast automatically to type {sql_type}',
                hint=f'You might need to specify "USING {column.name}::{sql_type}".',
            )
        return context.coercer.assign(Operand(stored, action.type.position), sql_type)
    fields = scan(relation).schema
    scope = relation_scope(relation.name, None, fields, relation=relation.name)
    operand = ExpressionBinder(context, scope, "ALTER TABLE … USING").bind(action.using.tree)
    refuse_system(context.system_uses, "ALTER TABLE … USING")
    if not can_coerce(operand.type, sql_type, Context.ASSIGNMENT):
        raise DatatypeMismatch(
            f'result of USING clause for column "{column.name}" cannot be cast automatically to type {sql_type}',
            hint="You might need to add an explicit cast.",
        )
    expr = context.coercer.assign(operand, sql_type)
    if columns_read(expr) - {index}:
        raise FeatureNotSupported(
            "USING that reads other columns than the one that changes is not supported",
            position=action.using.position,
            hint="Add a column, UPDATE the table, and drop the old column.",
        )
    return remapped(expr, {index: 0})


def column_domain(context: BindContext, table: Table, catalog: Catalog, name: TypeName) -> DomainType | None:
    """The domain that the type of a column means. Raises FeatureNotSupported if nobody would look at its rules."""
    domain = domain_named(name.text, context.types)
    if domain is not None:
        refuse_special(table, catalog, f"add a column of domain {domain.name}", name.position)
    return domain


def is_shown_as_text(context: BindContext, name: str, domain: DomainType | None) -> bool:
    """Whether catalogs show a column of the type as text."""
    return is_text_name(name) if domain is None else shows_text(domain, context.catalog)


def domain_checks(context: BindContext, column: ColumnDesc, value: Expr, rows: LogicalPlan) -> list[RowCheck]:
    """What is to be looked at if rows get `value` in the column: whether the rules of its domain hold."""
    if column.domain is None:
        return []
    rules = domain_rules(column.domain, context.catalog.types)
    if rules.are_none or (column.domain.dimensions(column.type) and value == Literal(None, column.type)):
        return []
    if column.domain.dimensions(column.type):
        message = f"an array of domain {column.domain.name} as the type of a column that has values is not supported"
        raise FeatureNotSupported(message, hint="Create a table with such a column, and INSERT ... SELECT the rows.")
    return [RowCheck(project(rows, [cast_to_domain(value, rules)], [column.name]), None)]
