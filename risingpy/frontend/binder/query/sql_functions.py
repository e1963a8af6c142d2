"""FROM f(x) of a user's table function in SQL: its body stands there as a subquery that may read what is before it.

FROM l, f(l.x) AS r (a, b)   =>   FROM l, LATERAL (the body of f, with l.x for its argument) AS r (a, b)
"""

from __future__ import annotations

from sqlglot import exp

from risingpy.errors import SqlError
from risingpy.frontend.binder.expressions.expression_binder import ExpressionBinder
from risingpy.frontend.binder.functions.arguments import bound_arguments
from risingpy.frontend.binder.functions.sql_bodies import BodyRows, body_rows
from risingpy.frontend.binder.functions.table_functions import (
    definition_list,
    function_of,
    is_name_of_set,
    users_schema,
)
from risingpy.frontend.binder.functions.user_defined import (
    about_the_call,
    as_defined,
    chosen_function,
    has_kind,
    no_definitions,
)
from risingpy.frontend.binder.plans import ONE_ROW
from risingpy.frontend.binder.query.joins import Item
from risingpy.frontend.binder.scope.columns import Scope, ScopeColumn, ScopeTable
from risingpy.frontend.binder.trees import name_of, position_of
from risingpy.plan.catalog import FunctionDesc, FunctionKind, FunctionLanguage
from risingpy.plan.expressions import InputRef, Literal
from risingpy.plan.logical import Apply, JoinKind, LogicalPlan
from risingpy.types import BOOLEAN, TypeKind
from risingpy.types.system_types import RECORD


def sql_function_item(left: Item | None, binder: ExpressionBinder, tree: exp.Expr, *, outer: bool) -> Item | None:
    """The rows of `left` with those of the call, and the names of the call's columns.

    None if `tree` is no such call, or needs its rows numbered or in step with others: those are made of an array.
    """
    columns = list(tree.args["alias"].args.get("columns") or ()) if tree.args.get("alias") is not None else []
    if isinstance(tree, exp.Table) and (tree.args.get("rows_from") or tree.args.get("ordinality")):
        return None
    if tree.args.get("ordinality"):
        return None
    call = function_of(tree)
    if not isinstance(call, exp.Anonymous):
        return None
    name, schema, position = name_of(call.this), users_schema(call), position_of(call)
    if (schema is None and is_name_of_set(name)) or not has_kind(binder, FunctionKind.TABLE, name, schema):
        return None
    function, args = chosen_function(binder, schema, name, bound_arguments(binder, call.expressions), position)
    if function.kind is not FunctionKind.TABLE or function.language is not FunctionLanguage.SQL:
        return None
    definitions = definition_list(tree, call, binder)
    if function.result == RECORD and definitions is None:
        raise no_definitions(position)
    function = as_defined(function, definitions, position)
    with about_the_call(function, position):
        rows = body_rows(binder, function, args)
    width = 0 if left is None else len(left[0].schema)
    return _placed(left, rows, outer=outer), _names(tree, columns, function, rows.plan, width)


def _placed(left: Item | None, rows: BodyRows, *, outer: bool) -> LogicalPlan:
    """The rows beside those of `left`; a strict function with a NULL has none."""
    if left is None and not rows.args and rows.condition is None:
        return rows.plan
    before: LogicalPlan = ONE_ROW if left is None else left[0]
    schema = before.schema + rows.plan.schema
    if not outer and rows.condition is None:
        return Apply(before, rows.plan, JoinKind.CROSS, rows.args, None, schema)
    condition = rows.condition or Literal(True, BOOLEAN)
    return Apply(before, rows.plan, JoinKind.LEFT if outer else JoinKind.INNER, rows.args, condition, schema)


def _names(tree: exp.Expr, columns: list[exp.Expr], function: FunctionDesc, plan: LogicalPlan, width: int) -> Scope:
    """The columns' names: those of the alias, else the declared ones; one without a name is called as the item."""
    alias = tree.args.get("alias")
    shown = name_of(alias.this) if alias is not None and alias.this is not None else function.name
    is_row = function.result.kind is TypeKind.STRUCT
    names = list(function.result.names) if is_row else [function.column or shown]
    given = [name_of(column.this if isinstance(column, exp.ColumnDef) else column) for column in columns]
    if len(given) > len(names):
        message = f'table "{shown}" has {len(names)} columns available but {len(given)} columns specified'
        raise SqlError(message, sqlstate="42P10")
    names[: len(given)] = given
    refs = [InputRef(width + i, field.type) for i, field in enumerate(plan.schema)]
    found = tuple(ScopeColumn(name, ref) for name, ref in zip(names, refs, strict=True))
    return Scope((ScopeTable(shown, None, found, whole=None if is_row else refs[0]),), found)
