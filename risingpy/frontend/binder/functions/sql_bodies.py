"""Functions in SQL: their bodies take the places of their calls.

    AS 'SELECT a + 1'                        f(x * 2)        =>  (x * 2) + 1
    AS 'SELECT v FROM t WHERE k = a'         f(x)            =>  (SELECT v FROM t WHERE k = x LIMIT 1)
    RETURNS SETOF …, RETURNS TABLE (…)       FROM l, f(l.x)  =>  FROM l, LATERAL (SELECT …)
                                             SELECT f(x)     =>  SELECT unnest(ARRAY(SELECT …))

So a plan needs no catalog, a view follows the rows that the body reads, and keeps the function as it was when the view
was made. A name in a body means a column of what the body reads, else an argument, never something of the call.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from sqlglot import exp

from risingpy.errors import FeatureNotSupported, InvalidFunctionDefinition, SqlError
from risingpy.frontend.binder.expressions.expression_binder import ExpressionBinder
from risingpy.frontend.binder.expressions.nested import field_of
from risingpy.frontend.binder.functions.array_query import array_of_rows
from risingpy.frontend.binder.plans import converted, project, references
from risingpy.frontend.binder.scope.columns import Scope, ScopeColumn, ScopeTable
from risingpy.frontend.binder.scope.context import CallArguments
from risingpy.frontend.binder.typing.coercion import Context, Operand, can_coerce
from risingpy.frontend.parser.ast import Select
from risingpy.frontend.parser.parse import parse
from risingpy.optimizer.facts import at_most_one_row
from risingpy.plan.catalog import FunctionDesc, FunctionKind
from risingpy.plan.expressions import Call, Case, Expr, Literal, Subquery
from risingpy.plan.expressions import SubqueryKind as Kind
from risingpy.plan.logical import Limit, LogicalPlan
from risingpy.types import BIGINT, BOOLEAN, SqlType, TypeKind, array_of, struct_of
from risingpy.types.system_types import RECORD, is_polymorphic

_CLAUSE = "a function's body"
_ONE_EXPRESSION = frozenset(("kind", "expressions", "hint", "operation_modifiers"))


@dataclass(frozen=True, slots=True)
class BodyRows:
    """The rows of a body, in the declared types. `args`: the values of the call that `plan` reads.

    `condition`, over the call: whether the function is called at all, which is not so for a NULL if it is strict.
    """

    plan: LogicalPlan
    args: tuple[Expr, ...]
    condition: Expr | None


def inlined(binder: ExpressionBinder, function: FunctionDesc, args: Sequence[Expr]) -> Expr:
    """The value of a function with these arguments: of the first row of its body, NULL of none.

    Raises InvalidFunctionDefinition for another type than the declared one.
    """
    function = _with_body(binder, function)
    tree = body_tree(function.body)
    expression = _one_expression(tree)
    if expression is None or _is_row_of_one(function.result):
        rows = body_rows(binder, function, args)
        plan = rows.plan if at_most_one_row(rows.plan) else Limit(rows.plan, Literal(1, BIGINT), None)
        type_ = _value_type(function, plan)
        return _called(rows.condition, Subquery(Kind.SCALAR, plan, rows.args, type_), type_)
    _check_recursion(binder, function)
    context = binder.context.of_body(function.function_id, None)
    result = ExpressionBinder(context, _scope(function, args), _CLAUSE).bind(expression)
    if function.result == RECORD:
        return _called(_no_null(function, args), *_record(binder, result))
    if not can_coerce(result.type, function.result, Context.ASSIGNMENT):
        raise _mismatch(function, f"Actual return type is {result.type.name}.")
    value = binder.context.coercer.assign(result, function.result)
    return _called(_no_null(function, args), value, value.type)


def body_rows(binder: ExpressionBinder, function: FunctionDesc, args: Sequence[Expr]) -> BodyRows:
    """The rows of a function's body, all of them."""
    bodies, function = binder.context.bodies, _with_body(binder, function)
    if bodies is None:
        raise FeatureNotSupported(
            f"function {function.shown}, whose body is a query, cannot be used in {binder.clause}"
        )
    _check_recursion(binder, function)
    scope = _scope(function, args)
    arguments = CallArguments(ExpressionBinder(replace(binder.context, outer=None), scope, _CLAUSE))
    plan = bodies(body_tree(function.body), arguments, function.function_id)
    return BodyRows(_as_declared(binder, function, plan), tuple(arguments.values), _no_null(function, args))


def rows_array(binder: ExpressionBinder, function: FunctionDesc, args: Sequence[Expr], where: exp.Expr) -> Expr:
    """The array of the rows of a table function, in their order, for where rows are made of arrays."""
    rows = body_rows(binder, function, args)
    row = function.result if function.result.kind is TypeKind.STRUCT else None
    array = array_of_rows(binder, rows.plan, rows.args, where, row)
    return _called(rows.condition, array, array_of(_value_type(function, rows.plan)))


def _with_body(binder: ExpressionBinder, function: FunctionDesc) -> FunctionDesc:
    """The function as it is bound here, with the types that the call has decided."""
    found = binder.context.with_body(function)
    if found.result != RECORD and not any(map(is_polymorphic, found.argument_types)):
        return found
    return replace(found, argument_types=function.argument_types, result=function.result)


def body_tree(body: str) -> exp.Expr:
    """The query of a body, its `$1` as columns. Raises FeatureNotSupported for any other body."""
    return _read_body(body).copy()


@lru_cache(maxsize=256)
def _read_body(body: str) -> exp.Expr:
    statements = parse(body)
    if len(statements) > 1:
        message = "several statements in a function's body are not supported"
        raise FeatureNotSupported(message, hint="CREATE PROCEDURE takes several statements.")
    query = statements[0].statement if statements else None
    if not isinstance(query, Select):
        message = "a function's body other than a query is not supported"
        raise FeatureNotSupported(message, hint="CREATE PROCEDURE takes statements that write.")

    def as_column(node: exp.Expr) -> exp.Expr:
        if not isinstance(node, exp.Parameter):
            return node
        column = exp.Column(this=exp.Identifier(this=f"${node.name}", quoted=True))
        column.meta.update(node.meta)
        return column

    return query.query.tree.transform(as_column)


def _one_expression(tree: exp.Expr) -> exp.Expr | None:
    """The expression of a body that reads nothing but its arguments, `SELECT expression`; None of any other query."""
    if not isinstance(tree, exp.Select) or len(tree.expressions) != 1:
        return None
    if {key for key, value in tree.args.items() if value} - _ONE_EXPRESSION:
        return None
    (expression,) = tree.expressions
    if any(isinstance(node, exp.Query | exp.Window) for node in expression.walk()):
        return None
    found: exp.Expr = expression.this if isinstance(expression, exp.Alias) else expression
    return found


def _check_recursion(binder: ExpressionBinder, function: FunctionDesc) -> None:
    if function.function_id in binder.context.inlining:
        raise FeatureNotSupported(f"function {function.shown} calls itself, which is not supported in SQL")


def _scope(function: FunctionDesc, args: Sequence[Expr]) -> Scope:
    """The arguments by name, perhaps after the function's, and as `$1`; of a row `r`, its fields as `r.a`, too."""
    numbered = [ScopeColumn(f"${number}", arg) for number, arg in enumerate(args, 1)]
    named = [ScopeColumn(name, arg) for name, arg in zip(function.argument_names, args, strict=True) if name]
    columns = tuple(numbered + named)
    rows = [_as_row(each) for each in named if each.expr.type.kind is TypeKind.STRUCT]
    return Scope((ScopeTable(function.name, None, columns), *rows), columns)


def _as_row(argument: ScopeColumn) -> ScopeTable:
    fields = [ScopeColumn(name, field_of(argument.expr, name)) for name in argument.expr.type.names]
    return ScopeTable(argument.name, None, tuple(fields))


def _declared(function: FunctionDesc) -> tuple[tuple[str, SqlType], ...]:
    """The columns that a body must have: their names and types."""
    if function.kind is FunctionKind.TABLE and function.result.kind is TypeKind.STRUCT:
        return tuple(zip(function.result.names, function.result.items, strict=True))
    return ((function.column or function.name, function.result),)


def _is_row_of_one(type_: SqlType) -> bool:
    return type_.kind is TypeKind.STRUCT and len(type_.items) == 1


def _value_type(function: FunctionDesc, plan: LogicalPlan) -> SqlType:
    """The type of a value of the function, of which `plan` has the rows: a record is what the body says."""
    return plan.schema[0].type if function.result == RECORD else function.result


def _record(binder: ExpressionBinder, value: Operand) -> tuple[Expr, SqlType]:
    """A value as a record, which a row is already."""
    expr = binder.context.coercer.settled(value)
    if expr.type.kind is TypeKind.STRUCT:
        return expr, expr.type
    row = struct_of(["f1"], [expr.type])
    return Call("row", (expr,), row), row


def _as_records(binder: ExpressionBinder, function: FunctionDesc, plan: LogicalPlan) -> LogicalPlan:
    """The rows of a body in one column; the fields are called as those of ROW(…)."""
    plan = _settled(binder, plan)
    if len(plan.schema) == 1 and plan.schema[0].type.kind is TypeKind.STRUCT:
        return plan
    names = [f"f{number}" for number, _ in enumerate(plan.schema, 1)]
    row = struct_of(names, [field.type for field in plan.schema])
    return project(plan, [Call("row", references(plan.schema), row)], [function.name])


def _settled(binder: ExpressionBinder, plan: LogicalPlan) -> LogicalPlan:
    """The rows with texts for what nothing has typed."""
    if any(field.type.kind is TypeKind.UNKNOWN for field in plan.schema):
        return converted(plan, lambda operand, _: binder.context.coercer.settled(operand), [1] * len(plan.schema))
    return plan


def _as_declared(binder: ExpressionBinder, function: FunctionDesc, plan: LogicalPlan) -> LogicalPlan:
    if function.result == RECORD:
        return _as_records(binder, function, plan)
    declared, given = _declared(function), [field.type for field in plan.schema]
    is_whole = len(given) == 1 and given[0].kind in (TypeKind.STRUCT, TypeKind.UNKNOWN)
    if function.result.kind is TypeKind.STRUCT and function.kind is not FunctionKind.TABLE and not is_whole:
        _check_count(function, len(given), len(function.result.items))
        plan = _coerced(binder, function, plan, function.result.items)
        return project(plan, [Call("row", references(plan.schema), function.result)], [function.name])
    if is_whole and len(declared) > 1 and len(given[0].items) == len(declared):  # the columns come as one row
        (row,) = references(plan.schema)
        plan = project(plan, [field_of(row, name) for name in row.type.names], [name for name, _ in declared])
    _check_count(function, len(plan.schema), len(declared))
    plan = _coerced(binder, function, plan, [type_ for _, type_ in declared])
    return _settled(binder, plan)


def _check_count(function: FunctionDesc, given: int, wanted: int) -> None:
    """Raises 42P13 for a body with another number of columns."""
    if given == wanted:
        return
    detail = "Final statement must return exactly one column."
    if function.result.kind is TypeKind.STRUCT:
        detail = f"Final statement returns too {'many' if given > wanted else 'few'} columns."
    raise _mismatch(function, detail)


def _coerced(
    binder: ExpressionBinder, function: FunctionDesc, plan: LogicalPlan, types: Sequence[SqlType]
) -> LogicalPlan:
    def convert(operand: Operand, i: int) -> Expr:
        if not can_coerce(operand.type, types[i], Context.ASSIGNMENT):
            detail = f"Final statement returns {operand.type.name} instead of {types[i].name} at column {i + 1}."
            raise _mismatch(function, detail)
        return binder.context.coercer.assign(operand, types[i])

    return converted(plan, convert, [1] * len(plan.schema))


def _mismatch(function: FunctionDesc, detail: str) -> SqlError:
    declared = "record" if function.result.kind is TypeKind.STRUCT else function.result.name
    message = f"return type mismatch in function declared to return {declared}"
    return InvalidFunctionDefinition(message, detail=detail)


def _no_null(function: FunctionDesc, args: Sequence[Expr]) -> Expr | None:
    """That no argument is NULL, if the function is strict; None if it is called in any case."""
    if not function.strict or not args:
        return None
    has_null: Expr = Call("is_null", (args[0],), BOOLEAN)
    for arg in args[1:]:
        has_null = Call("or", (has_null, Call("is_null", (arg,), BOOLEAN)), BOOLEAN)
    return Call("not", (has_null,), BOOLEAN)


def _called(condition: Expr | None, value: Expr, type_: SqlType) -> Expr:
    """The value where the function is called, else NULL."""
    return value if condition is None else Case(((condition, value),), Literal(None, type_), type_)
