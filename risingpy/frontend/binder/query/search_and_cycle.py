"""SEARCH and CYCLE of a recursive query: columns that the recursion carries from row to row.

    SEARCH DEPTH FIRST BY a SET o       o: ARRAY[ROW(a)],  then  o || ROW(a)
    SEARCH BREADTH FIRST BY a SET o     o: ROW(0, a),      then  ROW(o's number + 1, a)
    CYCLE a SET c USING p               p: ARRAY[ROW(a)],  then  p || ROW(a)
                                        c: false,          then  whether ROW(a) is in p; such a row goes no further

As in PostgreSQL (its rewriteSearchCycle.c), the step may name these columns, and its `*` does not have them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from risingpy.errors import DuplicateColumn, FeatureNotSupported, SyntaxError_
from risingpy.frontend.binder.expressions.expression_binder import ExpressionBinder
from risingpy.frontend.binder.expressions.nested import field_of
from risingpy.frontend.binder.plans import references
from risingpy.frontend.binder.scope.columns import Scope
from risingpy.frontend.binder.scope.context import BindContext
from risingpy.frontend.binder.trees import begin_of, name_of
from risingpy.frontend.binder.typing.coercion import Operand
from risingpy.frontend.parser.with_parser import CycleClause, SearchClause
from risingpy.plan.expressions import Call, Case, Expr, InputRef, Literal
from risingpy.plan.logical import Field, Filter, LogicalPlan, Project, Schema
from risingpy.types import BIGINT, BOOLEAN, array_of, struct_of


@dataclass(frozen=True, slots=True)
class _Extra:
    """A column that is carried: its name, its value in the first rows, and in those of a step.

    `first` reads the columns of the row; `next` those of the new row, then the carried ones of the row before.
    """

    name: str
    first: Expr
    next: Expr


@dataclass(frozen=True, slots=True)
class Carried:
    """What SEARCH and CYCLE add to the columns of a recursive query."""

    width: int
    extras: tuple[_Extra, ...]
    goes_on: Expr | None
    """Of a row with its carried columns: whether the recursion goes on from it. None: from every row."""

    @property
    def fields(self) -> Schema:
        return tuple(Field(extra.name, extra.first.type) for extra in self.extras)

    def started(self, start: LogicalPlan) -> LogicalPlan:
        """The first rows with their carried columns."""
        exprs = (*references(start.schema), *(extra.first for extra in self.extras))
        return Project(start, exprs, (*start.schema, *self.fields))

    def scanned(self, schema: Schema) -> Schema:
        """The columns of the reference to the query: `*` leaves the carried ones out."""
        return (*schema, *(replace(field, hidden=True) for field in self.fields))

    def step_tree(self, tree: exp.Expr, table: exp.Table, name: str) -> exp.Expr:
        """The step's SELECT, which also selects the carried columns of `table`, the reference."""
        while isinstance(tree, exp.Subquery):
            tree = tree.this
        if not isinstance(tree, exp.Select):
            message = "with a SEARCH or CYCLE clause, the right side of the UNION must be a SELECT"
            raise FeatureNotSupported(message, position=begin_of(tree))
        if not isinstance(table.parent, exp.From | exp.Join) or table.parent.parent is not tree:
            message = f'with a SEARCH or CYCLE clause, the recursive reference to WITH query "{name}"'
            raise FeatureNotSupported(f"{message} must be at the top level of its right-hand SELECT")
        alias = table.args.get("alias")
        shown = name if alias is None or alias.this is None else name_of(alias.this)
        copy = tree.copy()
        for extra in self.extras:
            parts = [exp.to_identifier(part, quoted=True) for part in (extra.name, shown)]
            column = exp.Column(this=parts[0], table=parts[1])
            for node in (*parts, column):
                node.meta.update(table.meta)
            copy.append("expressions", column)
        return copy

    def stepped(self, step: LogicalPlan) -> LogicalPlan:
        """The rows of a step with their new carried columns, of those rows from which the recursion goes on."""
        going = step if self.goes_on is None else Filter(step, self.goes_on)
        exprs = (*references(step.schema[: self.width]), *(extra.next for extra in self.extras))
        return Project(going, exprs, (*step.schema[: self.width], *self.fields))


def carried_columns(cte: exp.CTE, schema: Schema, context: BindContext) -> Carried | None:
    """What the SEARCH and CYCLE behind a recursive query with these columns carry; None if it has neither."""
    search, cycle = cte.args.get("search"), cte.args.get("cycle")
    if search is None and cycle is None:
        return None
    binder = _CarriedColumns(context, schema)
    extras: list[_Extra] = []
    goes_on = None
    if search is not None:
        extras.append(binder.searched(search, len(schema)))
    if cycle is not None:
        mark, path = binder.cycled(cycle, len(schema) + len(extras))
        goes_on = binder.operator("<>", InputRef(len(schema) + len(extras), mark.first.type), binder.marks(cycle)[0])
        extras += (mark, path)
    _check_names(extras, schema, search, cycle)
    return Carried(len(schema), tuple(extras), goes_on)


@dataclass(frozen=True, slots=True)
class _CarriedColumns:
    context: BindContext
    schema: Schema

    def operator(self, symbol: str, left: Expr, right: Expr) -> Expr:
        binder = ExpressionBinder(self.context, Scope(), "SEARCH")
        return binder.calls.operator(symbol, [Operand(left, 1), Operand(right, 1)], 1)

    def searched(self, clause: SearchClause, place: int) -> _Extra:
        columns = self._columns(clause.expressions, "search")
        name = name_of(clause.this)
        if not clause.args.get("breadth"):
            path = self._path(columns)
            return _Extra(name, path, self._longer(path, columns, place))
        first = _row([Literal(0, BIGINT), *columns])
        number = field_of(InputRef(place, first.type), "f1")
        return _Extra(name, first, _row([self.operator("+", number, Literal(1, BIGINT)), *columns]))

    def cycled(self, clause: CycleClause, place: int) -> tuple[_Extra, _Extra]:
        columns = self._columns(clause.expressions, "cycle")
        value, default = self.marks(clause)
        path = self._path(columns)
        seen = Call("any_eq", (_row(columns), InputRef(place + 1, path.type)), BOOLEAN)
        mark = _Extra(name_of(clause.this), default, Case(((seen, value),), default, value.type))
        return mark, _Extra(name_of(clause.args["using"]), path, self._longer(path, columns, place + 1))

    def marks(self, clause: CycleClause) -> tuple[Expr, Expr]:
        """The mark of a row that closes a cycle, and that of the others."""
        if clause.args.get("to") is None:
            return Literal(True, BOOLEAN), Literal(False, BOOLEAN)
        binder = ExpressionBinder(self.context, Scope(), "CYCLE")
        operands = [binder.bind(clause.args["to"]), binder.bind(clause.args["default"])]
        (value, default), _ = self.context.coercer.to_common_type(operands, "CYCLE")
        return value, default

    def _columns(self, names: Sequence[exp.Expr], clause: str) -> list[Expr]:
        found: list[Expr] = []
        places = {field.name: i for i, field in enumerate(self.schema)}
        for identifier in names:
            name = name_of(identifier)
            if name not in places:
                message = f'{clause} column "{name}" not in WITH query column list'
                raise SyntaxError_(message, position=begin_of(identifier))
            column = InputRef(places[name], self.schema[places[name]].type)
            if column in found:
                message = f'{clause} column "{name}" specified more than once'
                raise DuplicateColumn(message, position=begin_of(identifier))
            found.append(column)
        return found

    def _path(self, columns: Sequence[Expr]) -> Expr:
        row = _row(columns)
        return Call("array", (row,), array_of(row.type))

    def _longer(self, path: Expr, columns: Sequence[Expr], place: int) -> Expr:
        return self.operator("||", InputRef(place, path.type), _row(columns))


def _row(columns: Sequence[Expr]) -> Expr:
    names = [f"f{i}" for i in range(1, len(columns) + 1)]
    return Call("row", tuple(columns), struct_of(names, [column.type for column in columns]))


def _check_names(
    extras: Sequence[_Extra], schema: Schema, search: SearchClause | None, cycle: CycleClause | None
) -> None:
    """Raises SyntaxError_ for a name that is taken."""
    whats = ["search sequence column name"] * (search is not None)
    whats += ["cycle mark column name", "cycle path column name"] * (cycle is not None)
    trees = [] if search is None else [search.this]
    trees += [] if cycle is None else [cycle.this, cycle.args["using"]]
    columns = {field.name for field in schema}
    for number, (extra, what) in enumerate(zip(extras, whats, strict=True)):
        position = begin_of(trees[number])
        if extra.name in columns:
            raise SyntaxError_(f'{what} "{extra.name}" already used in WITH query column list', position=position)
        for other, other_what in zip(extras[:number], whats, strict=False):
            if other.name == extra.name:
                raise SyntaxError_(f"{other_what} and {what} are the same", position=position)
