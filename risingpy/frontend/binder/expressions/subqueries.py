"""Subqueries as expressions: `(SELECT …)`, EXISTS, IN, ANY, SOME and ALL.

    x <> ALL (SELECT y FROM t)  =>  NOT ANY(x = y; Scan t)

Values that a subquery reads of the row that it stands in become its `args`. NOT IN is NOT (… = ANY …), and ALL is
NOT (… ANY …) of the opposite comparison, NULLs included.
"""

from __future__ import annotations

from sqlglot import exp

from risingpy.errors import DatatypeMismatch, FeatureNotSupported, SyntaxError_
from risingpy.frontend.binder.expressions.expression_binder import ExpressionBinder
from risingpy.frontend.binder.expressions.nested import compared_with_array
from risingpy.frontend.binder.expressions.output_names import COLUMN_NAME, NO_NAME
from risingpy.frontend.binder.expressions.rows import compared_rows, in_list, row_fields
from risingpy.frontend.binder.expressions.symbols import BINARY
from risingpy.frontend.binder.plans import project
from risingpy.frontend.binder.scope.context import Outer
from risingpy.frontend.binder.trees import begin_of, name_of, position_of
from risingpy.frontend.binder.typing.coercion import Operand
from risingpy.plan.expressions import Call, Expr, InputRef, Literal, Parameter, Subquery
from risingpy.plan.expressions import SubqueryKind as Kind
from risingpy.plan.logical import LogicalPlan
from risingpy.types import BOOLEAN

_OPPOSITE = {"eq": "ne", "ne": "eq", "lt": "ge", "ge": "lt", "gt": "le", "le": "gt"}


def bound_subquery(binder: ExpressionBinder, tree: exp.Expr) -> tuple[LogicalPlan, Outer]:
    """The plan of a query that stands in an expression, and what it reads of the row there."""
    if binder.context.subqueries is None:
        raise FeatureNotSupported(f"cannot use subquery in {binder.clause.removesuffix('s')}", position=begin_of(tree))
    outer = Outer(binder)
    return binder.context.subqueries(tree, outer), outer


def scalars(binder: ExpressionBinder, tree: exp.Expr) -> list[Operand]:
    """One scalar subquery for each column of a query."""
    plan, outer = bound_subquery(binder, tree)
    tree.meta[COLUMN_NAME] = plan.schema[0].name if plan.schema else NO_NAME
    operands = []
    for i, field in enumerate(plan.schema):
        column = project(plan, [InputRef(i, field.type)], [field.name]) if len(plan.schema) > 1 else plan
        operands.append(Operand(Subquery(Kind.SCALAR, column, tuple(outer.values), field.type), tree))
    return operands


def bind_scalar(binder: ExpressionBinder, tree: exp.Subquery) -> Expr:
    """The value of a one-column query; NULL of no row. Raises 42601 for more columns; the run, 21000 for more rows."""
    operands = scalars(binder, tree)
    if len(operands) != 1:
        raise SyntaxError_("subquery must return only one column", position=begin_of(tree))
    return operands[0].expr


def bind_exists(binder: ExpressionBinder, tree: exp.Exists) -> Expr:
    """EXISTS is never NULL, and the query's select list does not matter."""
    plan, outer = bound_subquery(binder, tree.this)
    return Subquery(Kind.EXISTS, plan, tuple(outer.values), BOOLEAN)


def bind_in(binder: ExpressionBinder, tree: exp.In) -> Expr:
    """IN of a list or a query. A VALUES is a query, so that its rows are counted and typed as one."""
    query = tree.args.get("query")
    if query is None and len(tree.expressions) == 1 and isinstance(tree.expressions[0], exp.Values):
        query = tree.expressions[0]
    if query is None:
        return in_list(binder, tree)
    return _any(binder, tree.this, "=", query, position_of(tree), negated=False)


def quantifier(tree: exp.Expr) -> tuple[exp.Expr, bool] | None:
    """What stands in ANY (…), SOME (…) or ALL (…), and whether it is ALL; None if the tree is none of them."""
    match tree:
        case exp.Any() | exp.All():
            query, everything = tree.this, isinstance(tree, exp.All)
        case exp.Anonymous(expressions=[query]) if name_of(tree.this) in ("some", "all"):
            everything = name_of(tree.this) == "all"
        case _:
            return None
    return query.this if isinstance(query, exp.Paren) else query, everything


def quantified(binder: ExpressionBinder, symbol: str, left: exp.Expr, right: exp.Expr, position: int) -> Expr | None:
    """`left symbol ANY (…)`, SOME or ALL; None if no quantifier stands at the right."""
    found = quantifier(right)
    if found is None:
        return None
    query, everything = found
    if not isinstance(query, exp.Query | exp.Values):
        operands = (binder.bind(left), binder.bind(query))
        return compared_with_array(binder, symbol, operands, "all" if everything else "any", position)
    some = _any(binder, left, symbol, query, position, negated=everything)
    return Call("not", (some,), BOOLEAN) if everything else some


def refuse_quantifier(binder: ExpressionBinder, tree: exp.Expr) -> Expr:
    """ANY or ALL where no operator is: PostgreSQL's grammar has none."""
    word = "any" if isinstance(tree, exp.Any) else "all"
    raise SyntaxError_(f'syntax error at or near "{word}"', position=begin_of(tree))


def _any(
    binder: ExpressionBinder, left: exp.Expr, symbol: str, query: exp.Expr, position: int, *, negated: bool
) -> Expr:
    """Whether `left symbol y` is true of any row y of the query, or, `negated`, false of any."""
    fields = row_fields(left)
    operands = [binder.bind(part) for part in ([left] if fields is None else fields)]
    plan, outer = bound_subquery(binder, query)
    if len(plan.schema) != len(operands):
        size = "many" if len(plan.schema) > len(operands) else "few"
        raise SyntaxError_(f"subquery has too {size} columns", position=position)
    inside = [Operand(_inside(outer, operand.expr), operand.where) for operand in operands]
    columns = [Operand(InputRef(i, field.type), query) for i, field in enumerate(plan.schema)]
    comparison = compared_rows(binder.calls, symbol, inside, columns, position)
    if comparison.type != BOOLEAN:
        message = f"row comparison operator must yield type boolean, not type {comparison.type.kind.value}"
        raise DatatypeMismatch(message, position=position)
    if negated:
        comparison = _negated(comparison)
    return Subquery(Kind.ANY, plan, tuple(outer.values), BOOLEAN, comparison)


def _inside(outer: Outer, value: Expr) -> Expr:
    """A value of the row around, as the comparison with the subquery's rows calls it."""
    return value if isinstance(value, Literal | Parameter) else outer.reference(value)


def _negated(comparison: Expr) -> Expr:
    match comparison:
        case Call(function, args) if function in _OPPOSITE:
            return Call(_OPPOSITE[function], args, BOOLEAN)
        case Call("not", (inner,)):
            return inner
        case _:
            return Call("not", (comparison,), BOOLEAN)


def row_of_subquery(binder: ExpressionBinder, tree: exp.Binary) -> Expr | None:
    """`(a, b) = (SELECT x, y …)`; None if no row value stands at the left."""
    fields = row_fields(tree.this)
    if fields is None:
        return None
    operands = [binder.bind(field) for field in fields]
    columns = scalars(binder, tree.expression)
    if len(columns) != len(operands):
        size = "many" if len(columns) > len(operands) else "few"
        raise SyntaxError_(f"subquery has too {size} columns", position=position_of(tree))
    return compared_rows(binder.calls, BINARY[type(tree)], operands, columns, position_of(tree))
