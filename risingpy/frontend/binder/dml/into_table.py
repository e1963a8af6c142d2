"""CREATE SINK … INTO: the sink's query as rows of a table, as INSERT … SELECT would make them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from risingpy.errors import FeatureNotSupported, InvalidParameterValue, WrongObjectType
from risingpy.frontend.binder.ddl.create import visible_columns
from risingpy.frontend.binder.dml.target import assigned, default_of, is_given, target_columns, target_relation
from risingpy.frontend.binder.plans import converted, project
from risingpy.frontend.binder.scope.context import BindContext, SessionValues
from risingpy.frontend.binder.statement import make_context
from risingpy.frontend.parser.ast import ColumnName, ObjectName
from risingpy.plan.catalog import Catalog, Table
from risingpy.plan.expression_trees import remapped
from risingpy.plan.expressions import Expr, InputRef
from risingpy.plan.logical import LogicalPlan


@dataclass(frozen=True, slots=True)
class RowsForTable:
    """`plan` gives all visible columns of the table, in their order."""

    table: Table
    plan: LogicalPlan


def bind_rows_for_table(
    plan: LogicalPlan,
    name: ObjectName,
    columns: tuple[ColumnName, ...],
    catalog: Catalog,
    search_path: Sequence[str],
    *,
    session: SessionValues,
) -> RowsForTable:
    """The rows of `plan` as rows of the table called `name`: a column that `plan` lacks has its default, or is NULL.

    `columns` are those that INTO lists. Raises InvalidParameterValue if the plan has more or fewer columns, and
    SqlError for one that cannot stand in its column.
    """
    context = make_context(catalog, search_path, (), session)
    table = target_relation(context, name, "sink into")
    if table.upstream is not None:
        message = f'cannot sink into table "{table.name}": it copies table "{table.upstream.name}" of a source'
        raise WrongObjectType(message, position=name.position)
    if any(column.domain is not None for column in table.columns):
        message = f'cannot sink into table "{table.name}": the rules of a domain look at the rows of statements'
        raise WrongObjectType(message, sqlstate="0A000", position=name.position)
    if table.constraints or catalog.unique_indexes_of(table.relation_id) or catalog.foreign_keys_to(table.relation_id):
        message = f'cannot sink into table "{table.name}": it has constraints, which look at the rows of statements'
        raise WrongObjectType(message, sqlstate="0A000", position=name.position)
    targets = target_columns(table, columns or None, name)
    if not columns:
        targets = [index for index in targets if is_given(table.columns[index])]
    width = len(plan.schema)
    if width > len(targets) or (columns and width < len(targets)):
        found, wanted = f"{width} columns", f'{len(targets)} of table "{table.name}"'
        raise InvalidParameterValue(f"the sink has {found} for {wanted}", position=name.position)
    targets = targets[:width]
    plan = converted(plan, lambda operand, i: assigned(context, operand, table, targets[i]), [name.position] * width)
    visible = visible_columns(table)
    places = {index: place for place, index in enumerate(targets)}
    stored = [_stored(context, table, index, places, name) for index in visible]
    names = [table.columns[index].name for index in visible]
    return RowsForTable(table, _with_generated(project(plan, stored, names), table, visible))


def _stored(context: BindContext, table: Table, index: int, places: dict[int, int], name: ObjectName) -> Expr:
    column = table.columns[index]
    if index in places:
        return InputRef(places[index], column.type)
    if column.identity is not None or column.sequences:
        message = (
            f'column "{column.name}" of table "{table.name}" numbers the rows of statements, and not those of sinks'
        )
        raise FeatureNotSupported(message, hint="Give the column a value in the sink's query.", position=name.position)
    return default_of(context, table, index)


def _with_generated(plan: LogicalPlan, table: Table, visible: Sequence[int]) -> LogicalPlan:
    """The plan with generated columns computed from the others."""
    if all(table.columns[index].generated is None for index in visible):
        return plan
    positions = {table.columns[index].column_id: place for place, index in enumerate(visible)}
    values: list[Expr] = []
    for place, index in enumerate(visible):
        generated = table.columns[index].generated
        given: Expr = InputRef(place, table.columns[index].type)
        values.append(given if generated is None else remapped(generated.expression, positions))
    return project(plan, values, [table.columns[index].name for index in visible])
