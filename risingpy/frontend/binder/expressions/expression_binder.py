"""Expressions: from sqlglot's trees to typed ones.

One method per kind of node, chosen by `BINDERS`; a node without a method is refused by its name. Names and casts of
literals follow PostgreSQL; functions are in `functions.py`, subqueries in `subqueries.py`, row values in `rows.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any, cast

from sqlglot import exp

from risingpy import errors
from risingpy.errors import CannotCoerce, FeatureNotSupported, SyntaxError_, UndefinedColumn, UndefinedTable
from risingpy.frontend.binder.scope.aggregates import AggregateCalls
from risingpy.frontend.binder.scope.columns import Scope
from risingpy.frontend.binder.scope.context import BindContext, check_copies
from risingpy.frontend.binder.scope.windows import WindowCalls
from risingpy.frontend.binder.trees import begin_of, name_of, position_of
from risingpy.frontend.binder.typing.coercion import Context, Operand, can_coerce
from risingpy.frontend.binder.typing.literals import number_literal, unicode_text, written_number
from risingpy.frontend.binder.typing.signature_calls import Calls
from risingpy.frontend.binder.typing.type_names import resolve_type
from risingpy.frontend.parser.expression_parser import Operator, UnaryPlus
from risingpy.frontend.parser.interval_fields import interval_text
from risingpy.frontend.parser.nested_parser import LambdaExpression
from risingpy.frontend.parser.parser_tools import TYPE_TEXT
from risingpy.nesting import MAX_NESTING
from risingpy.plan.expression_trees import conjunction, disjunction
from risingpy.plan.expressions import Call, Case, Cast, Expr, InputRef, Literal, Parameter
from risingpy.types import BOOLEAN, INTERVAL, UNKNOWN, VARCHAR, SqlType

BINARY: dict[type[exp.Expr], str] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "%",
    exp.Pow: "^",
    exp.DPipe: "||",
    exp.BitwiseAnd: "&",
    exp.BitwiseOr: "|",
    exp.BitwiseXor: "#",
    exp.BitwiseLeftShift: "<<",
    exp.BitwiseRightShift: ">>",
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.Like: "~~",
    exp.ILike: "~~*",
    exp.RegexpLike: "~",
    exp.RegexpILike: "~*",
}

# What sqlglot parses and we do not run, by its name in SQL; anything else is named after its node.
UNSUPPORTED_NODES: dict[type[exp.Expr], str] = {
    exp.BitString: "type bit",
    exp.HexString: "type bit",
    exp.Lambda: "a lambda",
    LambdaExpression: "a lambda here",
}

_TESTS = {"TRUE": ("IS_TRUE", "IS_NOT_TRUE"), "FALSE": ("IS_FALSE", "IS_NOT_FALSE")}
_TESTS["UNKNOWN"] = ("IS_UNKNOWN", "IS_NOT_UNKNOWN")


class ExpressionBinder:
    """Binds expressions over one scope.

    `clause` names the place in errors; `aggregates` collects aggregate calls where they may stand, and is None
    where they may not; `windows` likewise collects window calls.
    """

    def __init__(
        self,
        context: BindContext,
        scope: Scope,
        clause: str,
        aggregates: AggregateCalls | None = None,
        windows: WindowCalls | None = None,
    ) -> None:
        self.context = context
        self.scope = scope
        self.clause = clause
        self.aggregates = aggregates
        self.windows = windows
        self.lambda_parameters: dict[str, Expr] = {}  # within a lambda: what its names stand for
        self.lambda_depth = 0
        self._nesting = 0  # levels of the tree above what is being bound
        self.sets: dict[int, Expr] = {}  # set-returning calls of a select list, by their trees' ids
        self.calls = Calls(context.coercer)

    def bind(self, tree: exp.Expr) -> Operand:
        """The typed expression; literals and parameters that nothing typed stay UNKNOWN."""
        self.context.session.check()
        method = BINDERS.get(type(tree))
        if method is None:
            what = UNSUPPORTED_NODES.get(type(tree), tree.key.upper())
            raise FeatureNotSupported(f"{what} is not supported", position=position_of(tree))
        if self._nesting == MAX_NESTING:
            raise errors.StatementTooComplex
        self._nesting += 1
        try:
            return Operand(method(self, tree), tree)
        finally:
            self._nesting -= 1

    def condition(self, tree: exp.Expr, what: str) -> Expr:
        """A boolean expression: the condition of `what` (WHERE, HAVING, …)."""
        return self.calls.boolean(self.bind(tree), what)

    def settled(self, tree: exp.Expr) -> Expr:
        """The typed expression, with unknown literals as text."""
        return self.context.coercer.settled(self.bind(tree))

    # -- leaves ---------------------------------------------------------------------------------------------------

    def _column(self, tree: exp.Column) -> Expr:
        if isinstance(tree.this, exp.Star):
            raise SyntaxError_('row expansion via "*" is not supported here', position=position_of(tree))
        if not tree.args.get("table") and name_of(tree.this) in self.lambda_parameters:
            return self.lambda_parameters[name_of(tree.this)]
        try:
            return self._own_column(tree, outer=False)
        except (UndefinedColumn, UndefinedTable) as error:
            if self.context.outer is None:
                raise
            try:
                return self.context.outer.reference(self.context.outer.binder.outer_column(tree))
            except (UndefinedColumn, UndefinedTable) as other:
                # The query around knows the table, if no column of that name: that says more.
                raise (other if isinstance(other, UndefinedColumn) and tree.args.get("table") else error) from None

    def outer_column(self, tree: exp.Column) -> Expr:
        """A column that a subquery reads: of this row, or of the row around it."""
        try:
            return self._own_column(tree, outer=True)
        except (UndefinedColumn, UndefinedTable):
            if self.context.outer is None:
                raise
            return self.context.outer.reference(self.context.outer.binder.outer_column(tree))

    def has_column(self, tree: exp.Column) -> bool:
        """Whether this scope has a column of that name."""
        try:
            self._own_column(tree, outer=False)
        except (UndefinedColumn, UndefinedTable):
            return False
        return True

    def outer_aggregate(self, tree: exp.Expr) -> Expr:
        """An aggregate call in a subquery all of whose columns are of this query: it is this query's aggregate."""
        return self.bind(tree).expr

    def _own_column(self, tree: exp.Column, *, outer: bool) -> Expr:
        """A column of this scope; `outer` if it stands in a subquery."""
        position = position_of(tree)
        name, table = name_of(tree.this), tree.args.get("table")
        if table is None:
            column = self.scope.column(name, position)
            shown = self.shown_name(name)
        else:
            schema = name_of(tree.args.get("db")) or None
            column = self.scope.qualified(schema, name_of(table), name, position)
            shown = f"{name_of(table)}.{name}"
        if not isinstance(column.expr, InputRef):
            return column.expr
        reference = InputRef(column.expr.index, column.expr.type)
        if self.aggregates is not None:
            self.aggregates.note(reference, position, shown, outer=outer)
        return reference

    def shown_name(self, name: str) -> str:
        """A bare column name as errors show it: with its table."""
        for table in self.scope.tables:
            if any(column.name == name for column in table.columns):
                return f"{table.alias}.{name}"
        return name

    def _literal(self, tree: exp.Literal) -> Expr:
        return Literal(str(tree.this), UNKNOWN) if tree.is_string else number_literal(str(tree.this), position_of(tree))

    def _text(self, tree: exp.Expr) -> Expr:
        return Literal(str(tree.this), UNKNOWN)

    def _unicode_text(self, tree: exp.Expr) -> Expr:
        escape = tree.args.get("escape")
        return Literal(unicode_text(str(tree.this), escape.name if escape else "\\", position_of(tree)), UNKNOWN)

    def _boolean(self, tree: exp.Boolean) -> Expr:
        return Literal(bool(tree.this), BOOLEAN)

    def _null(self, tree: exp.Null) -> Expr:
        return Literal(None, UNKNOWN)

    def _parameter(self, tree: exp.Parameter) -> Expr:
        return self.parameter(int(tree.this.name), position_of(tree))

    def parameter(self, index: int, position: int) -> Expr:
        """`$index`, which is of a type that is known or is to be found out."""
        if index == 0:
            raise SyntaxError_("there is no parameter $0", position=position)
        return Parameter(index, self.context.parameters.type_of(index, position))

    def _interval(self, tree: exp.Interval) -> Expr:
        unit = tree.args.get("unit")
        written = interval_text(tree.this.name, "" if unit is None else unit.name.lower())
        literal = Operand(Literal(written.text, UNKNOWN), position_of(tree.this))
        interval = self.context.coercer.coerce(literal, INTERVAL, Context.EXPLICIT)
        if written.smallest is None:
            return interval
        field = Operand(Literal(written.smallest, UNKNOWN), position_of(tree))
        return self.calls.function("date_trunc", [field, Operand(interval, position_of(tree))], position_of(tree))

    def _star(self, tree: exp.Star) -> Expr:
        raise SyntaxError_('syntax error at or near "*"', position=position_of(tree))

    def _default(self, tree: exp.Var) -> Expr:
        raise SyntaxError_("DEFAULT is not allowed in this context", position=position_of(tree))

    # -- operators ------------------------------------------------------------------------------------------------

    def _paren(self, tree: exp.Paren) -> Expr:
        return self.bind(tree.this).expr

    def _binary(self, tree: exp.Binary) -> Expr:
        for side in (tree.expression, tree.this):
            compare = COMPARISONS.get(type(side))
            if compare is not None and (found := compare(self, tree)) is not None:
                return found
        args = [self.bind(tree.this), self.bind(tree.expression)]
        return self.calls.operator(BINARY[type(tree)], args, position_of(tree))

    def _comparison(self, tree: exp.Binary) -> Expr:
        return self._binary(tree)

    def _connector(self, tree: exp.Connector) -> Expr:
        # A long chain leans to the left: walk it down instead of recursing.
        kind, operands = type(tree), [tree.expression]
        left = tree.this
        while type(left) is kind:
            operands.append(left.expression)
            left = left.this
        word, joined = ("AND", conjunction) if kind is exp.And else ("OR", disjunction)
        return cast(Expr, joined([self.condition(o, word) for o in (left, *reversed(operands))]))

    def _not(self, tree: exp.Not) -> Expr:
        inner = tree.this
        if isinstance(inner, exp.Is):
            return self._is(inner, negated=True)
        return Call("not", (self.condition(inner, "NOT"),), BOOLEAN)

    def _is(self, tree: exp.Is, *, negated: bool = False) -> Expr:
        if isinstance(tree.expression, exp.Null):
            if (test := NULL_TESTS.get(type(tree.this))) and (tested := test(self, tree, negated)):
                return tested
            return self.calls.null_test(self.bind(tree.this), negated=negated)
        word = tree.expression.sql().upper()
        if word.startswith("JSON"):
            return self._is_json(tree, word, negated=negated)
        return self.calls.form(_TESTS[word][negated], [self.bind(tree.this)], f"IS {'NOT ' * negated}{word}")

    def _is_json(self, tree: exp.Is, word: str, *, negated: bool) -> Expr:
        call = self.calls.form(f"IS_{word.replace(' ', '_')}", [self.bind(tree.this)], f"IS {word}")
        return Call("not", (call,), BOOLEAN) if negated else call

    def _distinct_from(self, tree: exp.Binary) -> Expr:
        args = self.calls.comparable([self.bind(tree.this), self.bind(tree.expression)], position_of(tree))
        name = "is_distinct_from" if isinstance(tree, exp.NullSafeNEQ) else "is_not_distinct_from"
        return Call(name, tuple(arg.expr for arg in args), BOOLEAN)

    def _negation(self, tree: exp.Neg) -> Expr:
        number = written_number(tree)
        if number is not None:
            return number_literal(number, position_of(tree))
        operand = self.bind(tree.this)
        match operand.expr:
            case Literal(int() as value, sql_type) if not isinstance(value, bool):
                return Literal(-value, sql_type)
            case Literal(Decimal() as value, sql_type):  # Python's minus would round to 28 digits
                return Literal(value.copy_negate() if value else value, sql_type)
        return self.calls.operator("-", [operand], position_of(tree))

    def _plus(self, tree: UnaryPlus) -> Expr:
        return self.calls.operator("+", [self.bind(tree.this)], position_of(tree))

    def _operator(self, tree: Operator) -> Expr:
        return self.calls.operator(str(tree.this), [self.bind(o) for o in tree.expressions], position_of(tree))

    def _between(self, tree: exp.Between) -> Expr:
        operand, low, high = self.bind(tree.this), self.bind(tree.args["low"]), self.bind(tree.args["high"])
        position = position_of(tree)
        check_copies(operand.expr, 2)

        def within(low: Operand, high: Operand) -> Expr:
            at_least = self.calls.operator(">=", [operand, low], position)
            return Call("and", (at_least, self.calls.operator("<=", [operand, high], position)), BOOLEAN)

        if tree.args.get("symmetric"):
            return Call("or", (within(low, high), within(high, low)), BOOLEAN)
        return within(low, high)

    def _escape(self, tree: exp.Escape) -> Expr:
        like = tree.this
        args = [self.bind(like.this), self.bind(like.expression), self.bind(tree.expression)]
        if isinstance(like, exp.SimilarTo):
            return self.calls.form("SIMILAR_ESCAPE", args, "SIMILAR TO")
        name = "LIKE_ESCAPE" if isinstance(like, exp.Like) else "ILIKE_ESCAPE"
        return self.calls.form(name, args, "LIKE")

    def _similar(self, tree: exp.SimilarTo) -> Expr:
        return self.calls.form("SIMILAR", [self.bind(tree.this), self.bind(tree.expression)], "SIMILAR TO")

    def _at_time_zone(self, tree: exp.AtTimeZone) -> Expr:
        args = [self.bind(tree.args["zone"]), self.bind(tree.this)]
        return self.calls.function("timezone", args, position_of(tree), shown="pg_catalog.timezone")

    # -- casts and CASE -------------------------------------------------------------------------------------------

    def cast(self, tree: exp.Cast) -> Expr:
        to = tree.args["to"]
        target = resolve_type(str(to.meta[TYPE_TEXT]), position_of(to), of_column=False)
        self.context.note_type(target, position_of(to))
        operand = self.bind(tree.this)
        if not can_coerce(operand.type, target, Context.EXPLICIT):
            raise CannotCoerce(f"cannot cast type {operand.type.name} to {target.name}", position=position_of(tree))
        if target.is_text and target.length is not None:
            return self._cut(operand, target)
        return self.context.coercer.coerce(operand, target, Context.EXPLICIT)

    def _cut(self, operand: Operand, target: SqlType) -> Expr:
        """An explicit cast to varchar(n) or char(n) cuts, where an assignment refuses."""
        text = self.context.coercer.coerce(operand, VARCHAR, Context.EXPLICIT)
        if isinstance(text, Literal):
            if not isinstance(text.value, str):
                return Literal(None, target)
            return self.context.coercer.coerce(Operand(Literal(text.value, UNKNOWN), 1), target, Context.EXPLICIT)
        return Cast(text, target)

    def _case(self, tree: exp.Case) -> Expr:
        subject = None if tree.args.get("this") is None else self.bind(tree.args["this"])
        if subject is not None:
            check_copies(subject.expr, len(tree.args["ifs"]))
        conditions = [self._case_condition(subject, branch) for branch in tree.args["ifs"]]
        default = tree.args.get("default")
        results = [self.bind(branch.args["true"]) for branch in tree.args["ifs"]]
        otherwise = self.bind(default) if default is not None else Operand(Literal(None, UNKNOWN), 1)
        exprs, result = self.context.coercer.to_common_type([otherwise, *results], "CASE")
        return Case(tuple(zip(conditions, exprs[1:], strict=True)), exprs[0], result)

    def _case_condition(self, subject: Operand | None, branch: exp.If) -> Expr:
        if subject is None:
            return self.condition(branch.this, "CASE/WHEN")
        return self.calls.operator("=", [subject, self.bind(branch.this)], begin_of(branch.this))


# What a comparison does where one of its sides is a node of that type; None if it is an ordinary comparison after all.
COMPARISONS: dict[type[exp.Expr], Callable[[ExpressionBinder, exp.Binary], Expr | None]] = {}
NULL_TESTS: dict[type[exp.Expr], Callable[[ExpressionBinder, exp.Is, bool], Expr | None]] = {}  # of x IS [NOT] NULL


BINDERS: dict[type[exp.Expr], Callable[[ExpressionBinder, Any], Expr]] = {
    **dict.fromkeys(BINARY, ExpressionBinder._binary),
    **dict.fromkeys((exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE), ExpressionBinder._comparison),
    exp.Column: ExpressionBinder._column,
    exp.Literal: ExpressionBinder._literal,
    exp.ByteString: ExpressionBinder._text,
    exp.RawString: ExpressionBinder._text,
    exp.National: ExpressionBinder._text,
    exp.Heredoc: ExpressionBinder._text,
    exp.UnicodeString: ExpressionBinder._unicode_text,
    exp.Boolean: ExpressionBinder._boolean,
    exp.Null: ExpressionBinder._null,
    exp.Parameter: ExpressionBinder._parameter,
    exp.Interval: ExpressionBinder._interval,
    exp.Star: ExpressionBinder._star,
    exp.Var: ExpressionBinder._default,
    exp.Paren: ExpressionBinder._paren,
    exp.And: ExpressionBinder._connector,
    exp.Or: ExpressionBinder._connector,
    exp.Not: ExpressionBinder._not,
    exp.Is: ExpressionBinder._is,
    exp.NullSafeEQ: ExpressionBinder._distinct_from,
    exp.NullSafeNEQ: ExpressionBinder._distinct_from,
    exp.Neg: ExpressionBinder._negation,
    UnaryPlus: ExpressionBinder._plus,
    Operator: ExpressionBinder._operator,
    exp.Between: ExpressionBinder._between,
    exp.SimilarTo: ExpressionBinder._similar,
    exp.Escape: ExpressionBinder._escape,
    exp.AtTimeZone: ExpressionBinder._at_time_zone,
    exp.Case: ExpressionBinder._case,
}
