"""ALTER TABLE … ADD COLUMN: the column, and what stands in it in the rows that are there.

A constant stands in the catalog, and no row is written. Numbers, values of volatile functions and generated values
differ from row to row: such a column is added without values, and filled when it is there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from risingpy.errors import FeatureNotSupported
from risingpy.frontend.binder.column_limits import check_relation
from risingpy.frontend.binder.ddl.alter_constraints import RowCheck, nulls_among_rows
from risingpy.frontend.binder.ddl.changed_type import column_domain, domain_checks, is_shown_as_text
from risingpy.frontend.binder.ddl.create import (
    bind_default,
    bound_default,
    check_column_name,
    refuse_null_twice,
    visible_columns,
)
from risingpy.frontend.binder.ddl.generated import bound_generated
from risingpy.frontend.binder.ddl.identity import identity_of, identity_type
from risingpy.frontend.binder.ddl.named_sequences import stored_default
from risingpy.frontend.binder.ddl.primary_key import refuse_copy
from risingpy.frontend.binder.query.relations import scan
from risingpy.frontend.binder.scope.context import BindContext
from risingpy.frontend.binder.typing.collations import check_collation
from risingpy.frontend.binder.typing.type_names import KnownTypes, resolve_type
from risingpy.frontend.parser.ast_alter import AddColumn, AddConstraint, AddPrimaryKey, AlterAction, SetNotNull
from risingpy.frontend.parser.ast_constraints import KeyDefinition
from risingpy.frontend.parser.ast_parts import ColumnDefinition, ColumnName, ObjectName
from risingpy.functions.volatile import NON_DETERMINISTIC
from risingpy.plan.catalog import Catalog, ColumnDesc, Table
from risingpy.plan.expression_trees import walk
from risingpy.plan.expressions import Call, Expr, Literal

Evaluate = Callable[[Expr], object]
_VOLATILE = NON_DETERMINISTIC | {"volatile_python_function"}


@dataclass(frozen=True, slots=True)
class NewColumn:
    """A column that has no id yet. In rows that are there it is `missing`, unless it `is_filled` once it is there."""

    column: ColumnDesc
    missing: object = None
    checks: tuple[RowCheck, ...] = ()
    is_filled: bool = False


def bind_added_column(
    context: BindContext, catalog: Catalog, stored: Table, table: Table, column: ColumnDefinition, evaluate: Evaluate
) -> NewColumn:
    """`stored` is the table as its rows are, `table` what the actions so far have made of it.

    `evaluate` computes a constant DEFAULT, once.
    """
    check_column_name(column)
    check_relation(len(visible_columns(table)) + 1, column.position)
    if column.default is not None or column.generated is not None or _numbers(table, column):
        refuse_default(table, column)
    identity = identity_of(column, table.name)
    refuse_null_twice(column, table.name, is_not_null=column.not_null or identity is not None)
    if column.says_null and column.primary_key:
        message = f'NULL in a primary key that is added is not supported: column "{column.name}" says NULL'
        raise FeatureNotSupported(message, position=column.position)
    if identity is not None:
        _refuse_filling(table, column)
        return NewColumn(ColumnDesc(0, column.name, identity_type(column), identity=identity), is_filled=True)
    sql_type = resolve_type(column.type.text, column.type.position, KnownTypes(catalog, context.search_path))
    if column.collation is not None:
        check_collation(column.collation.name, sql_type, column.collation.position)
    domain = column_domain(context, table, catalog, column.type)
    as_text = is_shown_as_text(context, column.type.text, domain)
    added = ColumnDesc(0, column.name, sql_type, column.not_null, as_text=as_text, domain=domain)
    if column.generated is not None:
        visible = tuple(each for each in table.columns if not each.hidden)
        names = frozenset(each.name for each in visible if each.generated is not None) | {column.name}
        _refuse_filling(table, column)
        generated = bound_generated(context, table.name, column, added, (*visible, added), names)
        return NewColumn(replace(generated, not_null=False), is_filled=True)
    default: Expr | None = None
    if column.default is not None:
        default = bound_default(context, column.default, column.name, sql_type)
        text, sequences = stored_default(context, column.default, default)
        added = replace(added, default=text, sequences=sequences)
    elif domain is not None:
        default = bind_default(added, context.catalog)
    if default is not None and any(isinstance(part, Call) and part.function in _VOLATILE for part in walk(default)):
        _refuse_filling(table, column)
        return NewColumn(replace(added, not_null=False), is_filled=True)
    missing = None if default is None else evaluate(default)
    checks = domain_checks(context, added, Literal(missing, sql_type), scan(stored))
    if column.not_null and missing is None:
        error = nulls_among_rows(table, column.name, column.position, "Give the column a DEFAULT.")
        checks.insert(0, RowCheck(scan(stored), error))
    return NewColumn(added, missing, tuple(checks))


def after_filling(action: AddColumn, added: NewColumn) -> list[AlterAction]:
    """What a filled column promises, which its rows are looked at for when they have its values."""
    column = action.column
    not_null = column.not_null or added.column.identity is not None
    promised: list[AlterAction] = []
    if not_null:
        promised.append(SetNotNull(ColumnName(column.name, column.position), not_null=True))
    return [*promised, *(AddConstraint(each) for each in action.constraints if not isinstance(each, KeyDefinition))]


def key_of_column(table: Table, column: ColumnDefinition) -> AddPrimaryKey:
    """PRIMARY KEY after a new column, as an action of its own."""
    name = ObjectName(table.name, table.schema_name, column.position)
    return AddPrimaryKey(name, (ColumnName(column.name, column.position),), column.position, key_name=column.key_name)


def _refuse_filling(table: Table, column: ColumnDefinition) -> None:
    """Raises FeatureNotSupported if rows that are there cannot be written again, each with its own value."""
    what = f'add column "{column.name}", whose values differ from row to row, to table "{table.name}"'
    refuse_copy(table, what, column.position, "Add a column without such values.")


def _numbers(table: Table, column: ColumnDefinition) -> bool:
    return identity_of(column, table.name) is not None


def refuse_default(table: Table, column: ColumnDefinition | ColumnName) -> None:
    """Raises FeatureNotSupported for a table that messages fill."""
    if table.source is not None:
        told = "messages say what stands in it"
        message = f'column "{column.name}" of a table that a source feeds has no DEFAULT: {told}'
        raise FeatureNotSupported(message, position=column.position)
