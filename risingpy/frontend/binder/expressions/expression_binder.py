"""Expressions: from sqlglot's trees to typed ones.

A function per kind of node binds it, chosen by the table of `nodes.py`; a node without one is refused by its name.
What they share is here: the way down, and what names mean. Names and casts of literals follow PostgreSQL.
"""

from __future__ import annotations

from sqlglot import exp

from risingpy import errors
from risingpy.errors import FeatureNotSupported, SyntaxError_, UndefinedColumn, UndefinedTable
from risingpy.frontend.binder.scope.aggregates import DIRECT, AggregateCalls
from risingpy.frontend.binder.scope.columns import Scope, ScopeColumn
from risingpy.frontend.binder.scope.context import BindContext
from risingpy.frontend.binder.scope.stars import is_star, star_columns
from risingpy.frontend.binder.scope.windows import WindowCalls
from risingpy.frontend.binder.trees import name_of, position_of
from risingpy.frontend.binder.typing.coercion import Operand
from risingpy.frontend.binder.typing.signature_calls import Calls
from risingpy.frontend.parser.nested_parser import CurrentOf, LambdaExpression, Variadic
from risingpy.nesting import MAX_NESTING
from risingpy.plan.expressions import Call, Expr, InputRef, Parameter

# What sqlglot parses and we do not run, by its name in SQL; anything else is named after its node.
UNSUPPORTED_NODES: dict[type[exp.Expr], str] = {
    CurrentOf: "WHERE CURRENT OF here",
    exp.Lambda: "a lambda",
    LambdaExpression: "a lambda here",
    Variadic: "VARIADIC here",
}


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
        bind = self.context.node_binders.get(type(tree))
        if bind is None:
            what = UNSUPPORTED_NODES.get(type(tree), tree.key.upper())
            raise FeatureNotSupported(f"{what} is not supported", position=position_of(tree))
        if self._nesting == MAX_NESTING:
            raise errors.StatementTooComplex
        self._nesting += 1
        try:
            return Operand(bind(self, tree), tree)
        finally:
            self._nesting -= 1

    def condition(self, tree: exp.Expr, what: str) -> Expr:
        """A boolean expression: the condition of `what` (WHERE, HAVING, …)."""
        return self.calls.boolean(self.bind(tree), what)

    def settled(self, tree: exp.Expr) -> Expr:
        """The typed expression, with unknown literals as text."""
        return self.context.coercer.settled(self.bind(tree))

    def column(self, tree: exp.Column) -> Expr:
        """A column of this scope, what a lambda calls so, or a column of the row around.

        Raises UndefinedColumn, UndefinedTable.
        """
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

    def star(self, tree: exp.Expr) -> list[tuple[str, Expr]] | None:
        """The columns, with their names, that `*` or `t.*` means; t may be of the row around. None if it is no star."""
        return self._star(tree, outer=False)

    def outer_star(self, tree: exp.Column) -> list[tuple[str, Expr]]:
        """The columns of `t.*` in a subquery, where t is of this row, or of the row around it."""
        return self._star(tree, outer=True) or []

    def _star(self, tree: exp.Expr, *, outer: bool) -> list[tuple[str, Expr]] | None:
        try:
            columns = star_columns(tree, self.scope)
        except UndefinedTable:
            around = self.context.outer
            if around is None or not isinstance(tree, exp.Column):
                raise
            return [(name, around.reference(value)) for name, value in around.binder.outer_star(tree)]
        if columns is None:
            return None
        position = position_of(tree)
        return [(each.name, self.read(each, self.shown_name(each.name), position, outer=outer)) for each in columns]

    def has_column(self, tree: exp.Column) -> bool:
        """Whether this scope has a column of that name."""
        try:
            self._own_column(tree, outer=False, reads=False)
        except (UndefinedColumn, UndefinedTable):
            return False
        return True

    def outer_aggregate(self, tree: exp.Expr) -> Expr:
        """An aggregate call in a subquery all of whose columns are of this query: it is this query's aggregate."""
        return self.bind(tree).expr

    def _own_column(self, tree: exp.Column, *, outer: bool, reads: bool = True) -> Expr:
        """A column of this scope; `outer` if it stands in a subquery. `reads`: the statement reads it."""
        position = position_of(tree)
        table, schema = tree.args.get("table"), name_of(tree.args.get("db")) or None
        if is_star(tree.this):  # `t.*` in an expression is the row of t
            column = self.scope.row(schema, name_of(table), position)
        elif table is None:
            column = self.scope.column(name_of(tree.this), position)
        else:
            column = self.scope.qualified(schema, name_of(table), name_of(tree.this), position)
        if not reads:
            return column.expr
        name = name_of(tree.this)
        shown = self.shown_name(name) if table is None else f"{name_of(table)}.{name}"
        value = self.read(column, shown, position, outer=outer)
        return Call(DIRECT, (value,), value.type) if tree.meta.get(DIRECT) == id(self.scope) else value

    def read(self, column: ScopeColumn, shown: str, position: int, *, outer: bool = False) -> Expr:
        """The value of a column of this scope, which the statement reads; errors call the column `shown`."""
        column.note()
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

    def parameter(self, index: int, position: int) -> Expr:
        """`$index`, which is of a type that is known or is to be found out."""
        if index == 0:
            raise SyntaxError_("there is no parameter $0", position=position)
        return Parameter(index, self.context.parameters.type_of(index, position))
