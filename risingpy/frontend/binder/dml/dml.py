"""INSERT, UPDATE, DELETE and COPY: plans whose rows the session logs.

UPDATE and DELETE plans give, for each row that they touch, the old row and (UPDATE) the new one: the columns of the
relation in storage order, hidden ones too, first all old values, then all new ones. INSERT gives the visible columns;
the session adds `_row_id`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from risingpy.errors import (
    DatatypeMismatch,
    FeatureNotSupported,
    SqlError,
    SyntaxError_,
    UndefinedColumn,
    WrongObjectType,
)
from risingpy.frontend.binder.ddl.create import bind_default, visible_columns
from risingpy.frontend.binder.expressions.expression_binder import ExpressionBinder
from risingpy.frontend.binder.expressions.subqueries import scalars
from risingpy.frontend.binder.plans import ONE_ROW, converted, project, references
from risingpy.frontend.binder.query.from_clause import find_relation, scan
from risingpy.frontend.binder.query.query import QueryBinder
from risingpy.frontend.binder.query.select import expand
from risingpy.frontend.binder.scope.columns import Scope, relation_scope
from risingpy.frontend.binder.scope.context import BindContext, SessionValues, depth_limited
from risingpy.frontend.binder.statement import make_context
from risingpy.frontend.binder.trees import begin_of
from risingpy.frontend.binder.typing.coercion import Context, Operand, can_coerce
from risingpy.frontend.parser.ast import Assignment, ColumnName, Copy, Delete, Expression, Insert, ObjectName, Update
from risingpy.plan.catalog import Catalog, ColumnDesc, Relation, RelationKind
from risingpy.plan.expressions import Expr, InputRef, Literal
from risingpy.plan.logical import Field, Filter, LogicalPlan, Project, Values
from risingpy.types import SqlType


@dataclass(frozen=True, slots=True)
class Returning:
    """RETURNING: expressions over one row of the relation, all its columns in storage order."""

    expressions: tuple[Expr, ...]
    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class BoundInsert:
    """`plan` gives one row per inserted row: the columns at `columns`, which are all that the user knows, in order."""

    relation: Relation
    columns: tuple[int, ...]
    plan: LogicalPlan
    returning: Returning | None
    parameter_types: tuple[SqlType, ...]
    dependencies: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class BoundRewrite:
    """UPDATE or DELETE. `plan` gives the old rows, and beside them the new rows if `has_new`; see the module's text.

    `returning` reads the new row of an UPDATE, the old row of a DELETE.
    """

    relation: Relation
    plan: LogicalPlan
    has_new: bool
    returning: Returning | None
    parameter_types: tuple[SqlType, ...]
    dependencies: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class CopyTarget:
    """COPY … FROM: the columns at `columns` come from the client; `defaults` are the other visible columns'."""

    relation: Relation
    columns: tuple[int, ...]
    defaults: tuple[tuple[int, Expr], ...]


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
    context = QueryBinder(make_context(catalog, search_path, parameter_types, session)).context
    relation = _target(context, statement.table, "insert into")
    targets = _target_columns(relation, statement.columns, statement.table)
    given = relation if statement.overriding is None else _with_given_numbers(relation)
    plan = _source(context, statement, given, targets)
    visible = visible_columns(relation)
    if statement.overriding == "USER":  # what the rows bring for such columns counts for nothing
        targets = [-1 if relation.columns[i].identity is not None else i for i in targets]
    exprs = [_value_of(relation, i, targets, plan, session) for i in visible]
    plan = project(plan, exprs, [relation.columns[i].name for i in visible])
    returning = _returning(context, statement.returning, relation, statement.alias or statement.table.name)
    types, dependencies = context.parameters.types(), tuple(dict.fromkeys(context.dependencies))
    return BoundInsert(relation, tuple(visible), plan, returning, types, dependencies)


@depth_limited
def bind_update(
    statement: Update,
    catalog: Catalog,
    search_path: Sequence[str],
    parameter_types: Sequence[SqlType] = (),
    *,
    session: SessionValues | None = None,
) -> BoundRewrite:
    """UPDATE: old and new rows of those that WHERE keeps. The primary key may change, too."""
    context = QueryBinder(make_context(catalog, search_path, parameter_types, session)).context
    relation = _target(context, statement.table, "update")
    _refuse_append_only(relation, statement.table)
    plan, scope = _matched(context, relation, statement.table, statement.alias, statement.where)
    old = references(plan.schema)
    new: list[Expr] = list(old)
    assigned: set[str] = set()
    for assignment in statement.assignments:
        index = _column_index(relation, assignment.column, statement.table)
        if assignment.column.name in assigned:
            message = f'multiple assignments to same column "{assignment.column.name}"'
            raise SqlError(message, sqlstate="42601", position=assignment.column.position)
        assigned.add(assignment.column.name)
        column = relation.columns[index]
        if assignment.value is None:
            new[index] = bind_default(column, session=session) or Literal(None, column.type)
        elif not _is_given(column):
            raise _generated_always(f'column "{column.name}" can only be updated to DEFAULT', column)
        else:
            new[index] = _assigned(context, _assignment(context, scope, assignment), relation, index)
    names = [column.name for column in relation.columns]
    plan = Project(plan, (*old, *new), tuple(Field(n, e.type) for n, e in zip(names * 2, (*old, *new), strict=True)))
    returning = _returning(context, statement.returning, relation, statement.alias or statement.table.name)
    return _rewrite(context, relation, plan, returning, has_new=True)


def _assignment(context: BindContext, scope: Scope, assignment: Assignment) -> Operand:
    assert assignment.value is not None
    binder = ExpressionBinder(context, scope, "UPDATE")
    if assignment.field is None:
        return binder.bind(assignment.value.tree)
    values = scalars(binder, assignment.value.tree)
    index, columns = assignment.field
    if len(values) != columns:
        message = "number of columns does not match number of values"
        raise SyntaxError_(message, position=assignment.value.position)
    return values[index]


@depth_limited
def bind_delete(
    statement: Delete,
    catalog: Catalog,
    search_path: Sequence[str],
    parameter_types: Sequence[SqlType] = (),
    *,
    session: SessionValues | None = None,
) -> BoundRewrite:
    """DELETE: the rows that WHERE keeps."""
    context = QueryBinder(make_context(catalog, search_path, parameter_types, session)).context
    relation = _target(context, statement.table, "delete from")
    _refuse_append_only(relation, statement.table)
    plan, _ = _matched(context, relation, statement.table, statement.alias, statement.where)
    returning = _returning(context, statement.returning, relation, statement.alias or statement.table.name)
    return _rewrite(context, relation, plan, returning, has_new=False)


def bind_copy_target(
    statement: Copy, catalog: Catalog, search_path: Sequence[str], *, session: SessionValues | None = None
) -> CopyTarget:
    """The columns that COPY … FROM STDIN fills."""
    assert statement.table is not None
    context = make_context(catalog, search_path, (), session)
    relation = _target(context, statement.table, "copy to")
    columns = _target_columns(relation, statement.columns, statement.table)
    generated = [relation.columns[i] for i in columns if relation.columns[i].generated is not None]
    if generated and statement.columns is not None:
        message = f'column "{generated[0].name}" is a generated column'
        raise SqlError(message, sqlstate="42P10", detail="Generated columns cannot be used in COPY.")
    columns = [i for i in columns if relation.columns[i].generated is None]
    rest = [i for i in visible_columns(relation) if i not in columns]
    defaults = [(i, bind_default(relation.columns[i], session=session)) for i in rest]
    exprs = tuple((i, d if d is not None else Literal(None, relation.columns[i].type)) for i, d in defaults)
    return CopyTarget(relation, tuple(columns), exprs)


# -- the target ---------------------------------------------------------------------------------------------------


def _target(context: BindContext, name: ObjectName, verb: str) -> Relation:
    relation = find_relation(context, name.name, name.schema, name.position)
    if relation.kind is RelationKind.INDEX:
        detail = "This operation is not supported for indexes."
        raise WrongObjectType(f'cannot open relation "{relation.name}"', detail=detail, position=name.position)
    if relation.kind is not RelationKind.TABLE:
        message = f'cannot {verb} {relation.kind.value} "{relation.name}"'
        raise WrongObjectType(message, position=name.position)
    context.dependencies.append(relation.relation_id)
    return relation


def _refuse_append_only(relation: Relation, name: ObjectName) -> None:
    if relation.append_only:
        raise FeatureNotSupported("append-only table does not support update or delete", position=name.position)


def _column_index(relation: Relation, column: ColumnName, table: ObjectName) -> int:
    for i in visible_columns(relation):
        if relation.columns[i].name == column.name:
            return i
    message = f'column "{column.name}" of relation "{table.name}" does not exist'
    raise UndefinedColumn(message, position=column.position)


def _target_columns(relation: Relation, names: tuple[ColumnName, ...] | None, table: ObjectName) -> list[int]:
    if names is None:
        return visible_columns(relation)
    targets: list[int] = []
    for column in names:
        index = _column_index(relation, column, table)
        if index in targets:
            message = f'column "{column.name}" specified more than once'
            raise SqlError(message, sqlstate="42701", position=column.position)
        targets.append(index)
    return targets


def _matched(
    context: BindContext, relation: Relation, table: ObjectName, alias: str | None, where: Expression | None
) -> tuple[LogicalPlan, Scope]:
    plan: LogicalPlan = scan(relation)
    schema = relation.schema_name if alias is None else None
    scope = relation_scope(alias or table.name, schema, plan.schema, relation=relation.name)
    if where is not None:
        plan = Filter(plan, ExpressionBinder(context, scope, "WHERE").condition(where.tree, "WHERE"))
    return plan, scope


def _rewrite(
    context: BindContext, relation: Relation, plan: LogicalPlan, returning: Returning | None, *, has_new: bool
) -> BoundRewrite:
    types, dependencies = context.parameters.types(), tuple(dict.fromkeys(context.dependencies))
    return BoundRewrite(relation, plan, has_new, returning, types, dependencies)


# -- values -------------------------------------------------------------------------------------------------------


def _source(context: BindContext, statement: Insert, relation: Relation, targets: list[int]) -> LogicalPlan:
    """The rows to insert: the columns at `targets` (perhaps fewer, from the left), of the columns' types."""
    if statement.source is None:
        return ONE_ROW
    tree = statement.source.tree
    if isinstance(tree, exp.Values) and not any(tree.args.get(key) for key in ("order", "limit", "offset", "with_")):
        return _values(context, tree, relation, targets, statement.columns)
    plan = QueryBinder(context).bind(statement.source.tree)
    positions = [begin_of(statement.source.tree)] * len(plan.schema)
    if isinstance(tree, exp.Select) and len(tree.expressions) == len(positions):
        positions = [begin_of(e) for e in tree.expressions]
    _check_width(len(plan.schema), targets, positions, statement.columns)
    return converted(plan, lambda operand, i: _assigned(context, operand, relation, targets[i]), positions)


def _values(
    context: BindContext,
    tree: exp.Values,
    relation: Relation,
    targets: list[int],
    columns: tuple[ColumnName, ...] | None,
) -> LogicalPlan:
    """VALUES of an INSERT: each value is cast to its column's type where it stands, and may be DEFAULT."""
    binder = ExpressionBinder(context, Scope(), "VALUES")
    defaults: dict[int, Expr] = {}
    rows: list[tuple[Expr, ...]] = []
    for row in tree.expressions:
        cells = row.expressions if isinstance(row, exp.Tuple) else [row]
        _check_width(len(cells), targets, [begin_of(cell) for cell in cells], columns)
        if rows and len(cells) != len(rows[0]):
            raise SyntaxError_("VALUES lists must all be the same length", position=begin_of(cells[0]))
        exprs = []
        for index, cell in zip(targets, cells, strict=False):
            if isinstance(cell, exp.Var) and cell.name.upper() == "DEFAULT":
                if index not in defaults:
                    column = relation.columns[index]
                    bound = bind_default(column, session=context.session)
                    defaults[index] = bound if bound is not None else Literal(None, column.type)
                exprs.append(defaults[index])
            else:
                exprs.append(_assigned(context, binder.bind(cell), relation, index))
        rows.append(tuple(exprs))
    fields = tuple(Field(relation.columns[i].name, relation.columns[i].type) for i in targets[: len(rows[0])])
    return Values(tuple(rows), fields)


def _check_width(width: int, targets: list[int], positions: list[int], columns: tuple[ColumnName, ...] | None) -> None:
    """`positions` are the expressions'; `columns` is the list that INSERT names, None if it names none."""
    if width > len(targets):
        message = "INSERT has more expressions than target columns"
        raise SyntaxError_(message, position=positions[len(targets)])
    if columns is not None and width < len(targets):
        raise SyntaxError_("INSERT has more target columns than expressions", position=columns[width].position)


def _generated_always(message: str, column: ColumnDesc) -> SqlError:
    kind = "a generated column" if column.identity is None else "an identity column defined as GENERATED ALWAYS"
    return SqlError(message, sqlstate="428C9", detail=f'Column "{column.name}" is {kind}.')


def _is_given(column: ColumnDesc) -> bool:
    """Whether rows may say what stands in the column."""
    return column.generated is None and not (column.identity is not None and column.identity.always)


def _with_given_numbers(relation: Relation) -> Relation:
    """The relation as OVERRIDING sees it: rows may bring a number for any identity column."""
    columns = [
        column if column.identity is None else replace(column, identity=replace(column.identity, always=False))
        for column in relation.columns
    ]
    return replace(relation, columns=tuple(columns))


def _assigned(context: BindContext, operand: Operand, relation: Relation, index: int) -> Expr:
    column = relation.columns[index]
    if not _is_given(column):
        raise _generated_always(f'cannot insert a non-DEFAULT value into column "{column.name}"', column)
    if not can_coerce(operand.type, column.type, Context.ASSIGNMENT):
        wanted, given = column.type.name, operand.type.name
        message = f'column "{column.name}" is of type {wanted} but expression is of type {given}'
        hint = "You will need to rewrite or cast the expression."
        raise DatatypeMismatch(message, position=operand.position, hint=hint)
    return context.coercer.assign(operand, column.type)


def _value_of(
    relation: Relation, index: int, targets: list[int], plan: LogicalPlan, session: SessionValues | None
) -> Expr:
    """A column's value in an inserted row: from the source, its default, or NULL."""
    column = relation.columns[index]
    if index in targets and targets.index(index) < len(plan.schema):
        return InputRef(targets.index(index), column.type)
    default = bind_default(column, session=session)
    return default if default is not None else Literal(None, column.type)


def _returning(
    context: BindContext, items: tuple[Expression, ...] | None, relation: Relation, alias: str
) -> Returning | None:
    if items is None:
        return None
    schema = relation.schema_name if alias == relation.name else None
    scope = relation_scope(alias, schema, scan(relation).schema, relation=relation.name)
    binder = ExpressionBinder(replace(context, subqueries=None), scope, "RETURNING")
    columns = [column for item in items for column in expand(item.tree, binder)]
    exprs = tuple(context.coercer.settled(column.operand) for column in columns)
    return Returning(exprs, tuple(Field(c.name, e.type) for c, e in zip(columns, exprs, strict=True)))
