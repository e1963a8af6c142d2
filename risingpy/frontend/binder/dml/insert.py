"""INSERT: a plan that gives the visible columns of each new row; the session adds `_row_id`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from risingpy.errors import (
    SyntaxError_,
)
from risingpy.frontend.binder.ddl.create import visible_columns
from risingpy.frontend.binder.dml.on_conflict import OnConflict, bind_on_conflict
from risingpy.frontend.binder.dml.parts import ColumnPart, parts_of
from risingpy.frontend.binder.dml.returning import Returning, bind_returning
from risingpy.frontend.binder.dml.target import (
    assigned,
    check_width,
    default_of,
    is_given,
    target_columns,
    target_relation,
    with_given_numbers,
)
from risingpy.frontend.binder.expressions.expression_binder import ExpressionBinder
from risingpy.frontend.binder.functions.selected_sets import place_sets
from risingpy.frontend.binder.plans import ONE_ROW, converted, project
from risingpy.frontend.binder.query.parameter_rows import bound_rows
from risingpy.frontend.binder.query.query import QueryBinder
from risingpy.frontend.binder.scope.columns import Scope
from risingpy.frontend.binder.scope.context import BindContext, SessionValues, depth_limited
from risingpy.frontend.binder.scope.uses import target_of
from risingpy.frontend.binder.statement import make_context
from risingpy.frontend.binder.trees import begin_of
from risingpy.frontend.binder.typing.coercion import Operand
from risingpy.frontend.parser.ast import ColumnName, Insert
from risingpy.frontend.parser.dialect import MORE_ROWS
from risingpy.plan.catalog import Catalog, Table
from risingpy.plan.catalog.acl import Privilege
from risingpy.plan.expressions import Expr, InputRef, Literal
from risingpy.plan.logical import Field, LogicalPlan, Values
from risingpy.types import SqlType


@dataclass(frozen=True, slots=True)
class BoundInsert:
    """`plan` gives one row per inserted row: the columns at `columns`, which are all that the user knows, in order.

    `on_conflict` is None without ON CONFLICT: then the table's own rule decides.
    """

    relation: Table
    columns: tuple[int, ...]
    plan: LogicalPlan
    on_conflict: OnConflict | None
    returning: Returning | None
    parameter_types: tuple[SqlType, ...]
    dependencies: tuple[int, ...]


@depth_limited
def bind_insert(
    statement: Insert,
    catalog: Catalog,
    search_path: Sequence[str],
    parameter_types: Sequence[SqlType] = (),
    *,
    session: SessionValues | None = None,
) -> BoundInsert:
    """INSERT with defaults filled in and every value cast to its column's type."""
    queries = QueryBinder(make_context(catalog, search_path, parameter_types, session)).knowing(statement.with_)
    context = queries.context
    relation = target_relation(context, statement.table, "insert into")
    targets = target_columns(relation, statement.columns, statement.table)
    given = relation if statement.overriding is None else with_given_numbers(relation)
    values = ExpressionBinder(context, Scope(), "VALUES")
    parts = parts_of(values, given, statement.columns, targets)
    plan = _source(queries, statement, given, targets, parts)
    visible = visible_columns(relation)
    target = target_of(context.uses)
    target.wanted |= Privilege.INSERT
    target.inserted |= {relation.columns[i].column_id for i in targets[: len(plan.schema)]}
    if statement.overriding == "USER":  # what the rows bring for such columns counts for nothing
        targets = [-1 if relation.columns[i].identity is not None else i for i in targets]
    exprs = [_value_of(context, relation, i, targets, plan, parts) for i in visible]
    plan = project(plan, exprs, [relation.columns[i].name for i in visible])
    on_conflict = bind_on_conflict(context, statement, relation)
    returning = bind_returning(context, statement.returning, relation, statement.alias or statement.table.name)
    context.check_uses()
    types, dependencies = context.parameters.types(), tuple(dict.fromkeys(context.dependencies))
    return BoundInsert(relation, tuple(visible), plan, on_conflict, returning, types, dependencies)


def _source(
    queries: QueryBinder, statement: Insert, relation: Table, targets: list[int], parts: Sequence[ColumnPart | None]
) -> LogicalPlan:
    """The rows to insert: values for the columns at `targets` (perhaps fewer, from the left) or `parts` of them."""
    if statement.source is None:
        return ONE_ROW
    context = queries.context
    tree = statement.source.tree
    if isinstance(tree, exp.Values) and not any(tree.args.get(key) for key in ("order", "limit", "offset", "with_")):
        return _values(context, tree, relation, targets, statement.columns, parts)
    plan = queries.bind(tree)
    positions = [begin_of(tree)] * len(plan.schema)
    if isinstance(tree, exp.Select) and len(tree.expressions) == len(positions):
        positions = [begin_of(e) for e in tree.expressions]
    check_width(len(plan.schema), targets, positions, statement.columns)
    return converted(plan, lambda operand, i: _assigned(context, operand, relation, targets[i], parts[i]), positions)


def _values(
    context: BindContext,
    tree: exp.Values,
    relation: Table,
    targets: list[int],
    columns: Sequence[ColumnName] | None,
    parts: Sequence[ColumnPart | None],
) -> LogicalPlan:
    """VALUES of an INSERT: each value is cast to its column's type where it stands, and may be DEFAULT.

    A single row may have set-returning functions, as a select list may.
    """
    binder = ExpressionBinder(context, Scope(), "VALUES")
    sets, levels = place_sets(ONE_ROW, binder, tree.expressions, ()) if _is_single(tree) else (ONE_ROW, 0)
    defaults: dict[int, Expr] = {}
    rows: list[tuple[Expr, ...]] = []
    for row in tree.expressions:
        cells = row.expressions if isinstance(row, exp.Tuple) else [row]
        check_width(len(cells), targets, [begin_of(cell) for cell in cells], columns)
        if rows and len(cells) != len(rows[0]):
            raise SyntaxError_("VALUES lists must all be the same length", position=begin_of(cells[0]))
        exprs = []
        for index, part, cell in zip(targets, parts, cells, strict=False):
            if isinstance(cell, exp.Var) and cell.name.upper() == "DEFAULT":
                if part is not None:
                    part.refuse_default()
                if index not in defaults:
                    defaults[index] = default_of(context, relation, index)
                exprs.append(defaults[index])
            else:
                exprs.append(_assigned(context, binder.bind(cell), relation, index, part))
        rows.append(tuple(exprs))

    def value(cell: exp.Expr, place: int) -> Expr:
        return _assigned(context, binder.bind(cell), relation, targets[place], parts[place])

    rows += bound_rows(context, tree, value)
    names = [relation.columns[i].name for i in targets[: len(rows[0])]]
    if levels:
        return project(sets, rows[0], names)
    fields = tuple(Field(name, expr.type) for name, expr in zip(names, rows[0], strict=True))
    return Values(tuple(rows), fields)


def _is_single(tree: exp.Values) -> bool:
    return len(tree.expressions) == 1 and MORE_ROWS not in tree.meta


def _assigned(context: BindContext, operand: Operand, relation: Table, index: int, part: ColumnPart | None) -> Expr:
    """A value as the column, or the part of it, stores it."""
    if part is None or not is_given(relation.columns[index]):
        return assigned(context, operand, relation, index)
    return part.assigned(operand)


def _value_of(
    context: BindContext,
    relation: Table,
    index: int,
    targets: list[int],
    plan: LogicalPlan,
    parts: Sequence[ColumnPart | None],
) -> Expr:
    """A column's value in an inserted row: from the source, its default, or NULL."""
    places = [place for place, target in enumerate(targets[: len(plan.schema)]) if target == index]
    if not places:
        return default_of(context, relation, index)
    value: Expr = Literal(None, relation.columns[index].type)
    for place in places:
        given, part = InputRef(place, plan.schema[place].type), parts[place]
        value = given if part is None else part.put(value, given)
    return value
