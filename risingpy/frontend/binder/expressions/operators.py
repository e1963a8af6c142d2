"""Operators: those with symbols, AND, OR and NOT, IS, BETWEEN, LIKE and their like."""

from __future__ import annotations

from decimal import Decimal
from typing import cast

from sqlglot import exp

from risingpy.errors import UndefinedFunction
from risingpy.frontend.binder.expressions.expression_binder import ExpressionBinder
from risingpy.frontend.binder.expressions.rows import row_comparison, row_null_test
from risingpy.frontend.binder.expressions.subqueries import quantified, row_of_subquery
from risingpy.frontend.binder.expressions.symbols import BINARY
from risingpy.frontend.binder.scope.copies import bound_once
from risingpy.frontend.binder.trees import position_of
from risingpy.frontend.binder.typing.coercion import Operand
from risingpy.frontend.binder.typing.literals import number_literal, written_number
from risingpy.frontend.parser.expression_parser import Operator, UnaryPlus
from risingpy.plan.expression_trees import conjunction, disjunction
from risingpy.plan.expressions import Call, Expr, Literal
from risingpy.types import BIGINT, BOOLEAN, INTEGER, SMALLINT

_TESTS = {
    "TRUE": ("IS_TRUE", "IS_NOT_TRUE"),
    "FALSE": ("IS_FALSE", "IS_NOT_FALSE"),
    "UNKNOWN": ("IS_UNKNOWN", "IS_NOT_UNKNOWN"),
}


def bind_paren(binder: ExpressionBinder, tree: exp.Paren) -> Expr:
    """Parentheses leave no trace in the bound expression."""
    return binder.bind(tree.this).expr


def bind_binary(binder: ExpressionBinder, tree: exp.Binary) -> Expr:
    """An operator with a node of its own; what stands at its sides may make it a comparison of rows or of a set."""
    found = _of_set_or_rows(binder, tree)
    if found is not None:
        return found
    args = [binder.bind(tree.this), binder.bind(tree.expression)]
    return binder.calls.operator(BINARY[type(tree)], args, position_of(tree))


def _of_set_or_rows(binder: ExpressionBinder, tree: exp.Binary) -> Expr | None:
    """A comparison with ANY, SOME or ALL, or of row values; None if it is an ordinary one."""
    found = quantified(binder, BINARY[type(tree)], tree.this, tree.expression, position_of(tree))
    if found is None and isinstance(tree.expression, exp.Subquery):
        found = row_of_subquery(binder, tree)
    return row_comparison(binder, tree) if found is None else found


def bind_connector(binder: ExpressionBinder, tree: exp.Connector) -> Expr:
    """One flat AND or OR of conditions, in the order in which they are written."""
    # A long chain leans to the left: walk it down instead of recursing.
    kind, operands = type(tree), [tree.expression]
    left = tree.this
    while type(left) is kind:
        operands.append(left.expression)
        left = left.this
    word, joined = ("AND", conjunction) if kind is exp.And else ("OR", disjunction)
    return cast(Expr, joined([binder.condition(o, word) for o in (left, *reversed(operands))]))


def bind_not(binder: ExpressionBinder, tree: exp.Not) -> Expr:
    """NOT of a condition; NOT around IS is the test's own negation."""
    inner = tree.this
    if isinstance(inner, exp.Is):
        return bind_is(binder, inner, negated=True)
    return Call("not", (binder.condition(inner, "NOT"),), BOOLEAN)


def bind_is(binder: ExpressionBinder, tree: exp.Is, *, negated: bool = False) -> Expr:
    """IS [NOT] NULL, TRUE, FALSE, UNKNOWN and JSON. A row IS NULL if all its fields are, and IS NOT NULL if none is."""
    if isinstance(tree.expression, exp.Null):
        tested = row_null_test(binder, tree, negated=negated)
        if tested is not None:
            return tested
        return binder.calls.null_test(binder.bind(tree.this), negated=negated)
    word = tree.expression.sql().upper()
    if word.startswith("JSON"):
        return _is_json(binder, tree, word, negated=negated)
    return binder.calls.form(_TESTS[word][negated], [binder.bind(tree.this)], f"IS {'NOT ' * negated}{word}")


def _is_json(binder: ExpressionBinder, tree: exp.Is, word: str, *, negated: bool) -> Expr:
    call = binder.calls.form(f"IS_{word.replace(' ', '_')}", [binder.bind(tree.this)], f"IS {word}")
    return Call("not", (call,), BOOLEAN) if negated else call


def bind_distinct_from(binder: ExpressionBinder, tree: exp.Binary) -> Expr:
    """IS [NOT] DISTINCT FROM: true or false of any two comparable values, NULL included."""
    args = binder.calls.comparable([binder.bind(tree.this), binder.bind(tree.expression)], position_of(tree))
    name = "is_distinct_from" if isinstance(tree, exp.NullSafeNEQ) else "is_not_distinct_from"
    return Call(name, tuple(arg.expr for arg in args), BOOLEAN)


_LEAST = {SMALLINT: -(1 << 15), INTEGER: -(1 << 31), BIGINT: -(1 << 63)}  # whose negation the type lacks


def bind_negation(binder: ExpressionBinder, tree: exp.Neg) -> Expr:
    """A number with its minus is one constant, so that -9223372036854775808 is a bigint."""
    number = written_number(tree)
    if number is not None:
        return number_literal(number, position_of(tree))
    operand = binder.bind(tree.this)
    match operand.expr:
        case Literal(int() as value, sql_type) if not isinstance(value, bool) and value != _LEAST.get(sql_type):
            return Literal(-value, sql_type)
        case Literal(Decimal() as value, sql_type):  # Python's minus would round to 28 digits
            return Literal(value.copy_negate() if value else value, sql_type)
    return binder.calls.operator("-", [operand], position_of(tree))


def bind_plus(binder: ExpressionBinder, tree: UnaryPlus) -> Expr:
    """A call of the unary operator, which only numbers have, as in PostgreSQL."""
    return binder.calls.operator("+", [binder.bind(tree.this)], position_of(tree))


def bind_operator(binder: ExpressionBinder, tree: Operator) -> Expr:
    """An operator by its symbol, which may have a quantifier at its right."""
    if len(tree.expressions) == 2:
        left, right = tree.expressions
        found = quantified(binder, str(tree.this), left, right, position_of(tree))
        if found is not None:
            return found
    return binder.calls.operator(str(tree.this), [binder.bind(o) for o in tree.expressions], position_of(tree))


def bind_named_operator(binder: ExpressionBinder, tree: exp.Operator) -> Expr:
    """`a OPERATOR(pg_catalog.~) b`: the operator of that name, whose schema is always this one."""
    schema, dot, symbol = str(tree.args["operator"]).rpartition(".")
    if dot and schema.strip().strip('"') != "pg_catalog":
        message = f"operator does not exist: {tree.args['operator']}"
        raise UndefinedFunction(message, position=position_of(tree))
    named = Operator(this=symbol.strip(), expressions=[tree.this, tree.expression])
    named.meta.update(tree.meta)
    return bind_operator(binder, named)


def bind_between(binder: ExpressionBinder, tree: exp.Between) -> Expr:
    """Two comparisons joined by AND; SYMMETRIC tries the bounds in both orders."""
    operand, low, high = binder.bind(tree.this), binder.bind(tree.args["low"]), binder.bind(tree.args["high"])
    position = position_of(tree)

    def compared(operand: Operand) -> Expr:
        def within(low: Operand, high: Operand) -> Expr:
            at_least = binder.calls.operator(">=", [operand, low], position)
            return Call("and", (at_least, binder.calls.operator("<=", [operand, high], position)), BOOLEAN)

        if tree.args.get("symmetric"):
            return Call("or", (within(low, high), within(high, low)), BOOLEAN)
        return within(low, high)

    return bound_once(operand, compared, copies=2)


def bind_escape(binder: ExpressionBinder, tree: exp.Escape) -> Expr:
    """LIKE, ILIKE or SIMILAR TO with an escape character, which is an expression too."""
    like = tree.this
    args = [binder.bind(like.this), binder.bind(like.expression), binder.bind(tree.expression)]
    if isinstance(like, exp.SimilarTo):
        return binder.calls.form("SIMILAR_ESCAPE", args, "SIMILAR TO")
    name = "LIKE_ESCAPE" if isinstance(like, exp.Like) else "ILIKE_ESCAPE"
    return binder.calls.form(name, args, "LIKE")


def bind_similar(binder: ExpressionBinder, tree: exp.SimilarTo) -> Expr:
    """SIMILAR TO with the backslash as its escape character."""
    return binder.calls.form("SIMILAR", [binder.bind(tree.this), binder.bind(tree.expression)], "SIMILAR TO")


def bind_at_time_zone(binder: ExpressionBinder, tree: exp.AtTimeZone) -> Expr:
    """`t AT TIME ZONE z` is timezone(z, t); errors name that function, as PostgreSQL's do."""
    args = [binder.bind(tree.args["zone"]), binder.bind(tree.this)]
    return binder.calls.function("timezone", args, position_of(tree), shown="pg_catalog.timezone")
