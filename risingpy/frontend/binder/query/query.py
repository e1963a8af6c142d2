"""Queries: SELECT, VALUES, UNION, WITH, and the public `bind_query`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from risingpy.errors import FeatureNotSupported, SqlError, SyntaxError_
from risingpy.frontend.binder.column_limits import check_targets
from risingpy.frontend.binder.expressions.expression_binder import ExpressionBinder
from risingpy.frontend.binder.plans import converted, named_fields, renamed, settled, shown
from risingpy.frontend.binder.query.column_origins import Origin, column_origins
from risingpy.frontend.binder.query.domain_columns import domains_of
from risingpy.frontend.binder.query.from_clause import CommonTable, FromBinder, Queries
from risingpy.frontend.binder.query.joins import Item as FromItem
from risingpy.frontend.binder.query.mutual_recursion import bound_items
from risingpy.frontend.binder.query.parameter_rows import rows_of
from risingpy.frontend.binder.query.recursion import bound_recursion, in_order, is_recursive, with_column_names
from risingpy.frontend.binder.query.select import Item, SelectBinder, limited, sorted_by_output
from risingpy.frontend.binder.query.set_operations import bound_set_operation
from risingpy.frontend.binder.query.text_columns import with_texts
from risingpy.frontend.binder.query.written_rows import WrittenRows
from risingpy.frontend.binder.scope.columns import Scope
from risingpy.frontend.binder.scope.context import (
    BindContext,
    ExpandedView,
    NamedRelation,
    Outer,
    SessionValues,
    SetConfig,
    SystemUse,
    depth_limited,
)
from risingpy.frontend.binder.scope.uses import reads_of
from risingpy.frontend.binder.statement import make_context
from risingpy.frontend.binder.trees import begin_of, name_of, position_of, refuse_unknown
from risingpy.frontend.binder.typing.coercion import Operand
from risingpy.frontend.parser.ast import Query, TableItems
from risingpy.frontend.parser.dml.within import WriteInWith
from risingpy.frontend.parser.parse import parse_query
from risingpy.frontend.parser.with_parser import CHANGELOG, MutuallyRecursive
from risingpy.optimizer.orderable import check_order
from risingpy.optimizer.plan_size import check_size
from risingpy.optimizer.rewrite import with_correlated
from risingpy.plan.catalog import Catalog, DomainType, ReadColumns, View, is_temporary_schema
from risingpy.plan.expressions import Cast, CorrelatedRef, Expr, InputRef
from risingpy.plan.logical import ChangeLog, Field, LogicalPlan, Schema, Values
from risingpy.types import BIGINT, SMALLINT, SqlType, TypeKind


@dataclass(frozen=True, slots=True)
class BoundQuery:
    """A query's plan, its result columns, its parameters' types.

    `shown_types` are the columns' types as clients hear of them, which tell text from character varying.
    `domains` are those that the columns are of; empty: none is of one. `origins` are the relations' columns that they
    are.
    `dependencies` are the relations that it names (views unexpanded), `named` where their names stand, `functions`
    users' functions, `settings` the calls of set_config before the first row, `system_uses` what it needs of it.
    """

    plan: LogicalPlan
    fields: tuple[Field, ...]
    parameter_types: tuple[SqlType, ...]
    dependencies: tuple[int, ...]
    functions: tuple[int, ...] = ()
    settings: tuple[SetConfig, ...] = ()
    system_uses: tuple[SystemUse, ...] = ()
    named: tuple[NamedRelation, ...] = ()
    reads: tuple[ReadColumns, ...] = ()
    shown_types: tuple[SqlType, ...] = ()
    domains: tuple[DomainType | None, ...] = ()
    origins: tuple[Origin, ...] = ()

    @property
    def texts(self) -> tuple[bool, ...]:
        """Whether each column is text, for a relation that is made of the query."""
        return tuple(shown != field.type for shown, field in zip(self.shown_types, self.fields, strict=True))

    @property
    def column_domains(self) -> tuple[DomainType | None, ...]:
        """The domain of each column, for a relation that is made of the query."""
        return self.domains or (None,) * len(self.fields)

    @property
    def shown_fields(self) -> Schema:
        """The columns as clients hear of them."""
        return tuple(replace(f, type=shown) for f, shown in zip(self.fields, self.shown_types, strict=True))


@depth_limited
def bind_query(
    query: Query,
    catalog: Catalog,
    search_path: Sequence[str],
    parameter_types: Sequence[SqlType] = (),
    *,
    session: SessionValues | None = None,
    is_read: bool = True,
    bodies_in: tuple[Catalog, tuple[str, ...]] | None = None,
) -> BoundQuery:
    """Binds a query. `parameter_types` are what the client declared; UNKNOWN ones and missing ones are found out.

    The names in bodies of functions are those of `bodies_in`, a catalog and a search path, if it is given.
    Raises InsufficientPrivilege if the session's role may not read what it reads, unless it only names it.
    """
    context = replace(make_context(catalog, search_path, parameter_types, session), bodies_in=bodies_in)
    bound = bind_settled(context, query.tree)
    plan = shown(bound, context.coercer)
    check_size(plan)
    check_order(plan)
    if is_read:
        context.check_uses()
    dependencies, functions = (tuple(dict.fromkeys(ids)) for ids in (context.dependencies, context.functions))
    types, settings = context.parameters.types(), tuple(context.settings)
    fields = named_fields(bound.schema, plan.schema)
    return BoundQuery(
        plan,
        fields,
        types,
        dependencies,
        functions,
        settings,
        tuple(context.system_uses),
        tuple(context.named),
        reads_of(context.uses),
        with_texts(plan, fields, catalog),
        domains_of(plan, fields, catalog),
        column_origins(bound, catalog, context.views),
    )


def bind_settled(context: BindContext, tree: exp.Expr) -> LogicalPlan:
    """The plan of a query whose unknown columns are text."""
    return settled(QueryBinder(context).bind(tree), context.coercer)


class QueryBinder:
    """Binds queries within one level of common table expressions."""

    def __init__(self, context: BindContext, common: dict[str, CommonTable] | None = None) -> None:
        self._context = replace(context, subqueries=self._subquery, bodies=self._body)
        self._common = dict(common or {})

    @property
    def context(self) -> BindContext:
        """For binding expressions that may have subqueries."""
        return self._context

    def bind(self, tree: exp.Expr) -> LogicalPlan:
        """The plan; columns that are unknown literals stay unknown."""
        return self.knowing(tree.args.get("with_")).bind_body(tree)

    def knowing(self, with_: exp.With | None) -> QueryBinder:
        """A binder of queries that may also read the common table expressions of a WITH."""
        if with_ is None:
            return self
        inner = QueryBinder(self._context, self._common)
        inner._add_common(with_)
        return inner

    def from_items(self, items: TableItems) -> FromItem:
        """The rows and the names of a FROM or USING that stands in no SELECT."""
        return FromBinder(self._context, self._queries()).bind(items.first, items.joins)

    def bind_body(self, tree: exp.Expr) -> LogicalPlan:
        """The plan of a query whose WITH is known already."""
        match tree:
            case exp.Select():
                return SelectBinder(self._context, self._queries()).bind(tree)
            case exp.Values():
                refuse_unknown(tree, ("expressions", "order", "limit", "offset", "with_", "alias"), {})
                return self._ordered_and_limited(tree, self.values(tree))
            case exp.SetOperation():
                return self._ordered_and_limited(tree, bound_set_operation(self._context, self.bind, tree))
            case exp.Subquery():
                refuse_unknown(tree, ("this", "order", "limit", "offset", "with_", "alias"), {})
                return self._ordered_and_limited(tree, self.bind(tree.this))
            case exp.Paren():
                return self.bind(tree.this)
            case _:
                raise FeatureNotSupported(f"{tree.key.upper()} as a query is not supported", position=position_of(tree))

    def _queries(self) -> Queries:
        return Queries(
            lambda tree: settled(self.bind(tree), self._context.coercer), self._expand_view, self._common_table
        )

    def _subquery(self, tree: exp.Expr, outer: Outer) -> LogicalPlan:
        inner = QueryBinder(replace(self._context, outer=outer), self._common)
        return settled(inner.bind(tree), self._context.coercer)

    def _body(self, tree: exp.Expr, arguments: Outer, function_id: int) -> LogicalPlan:
        """The plan of a function's body. It knows no common table expression of the call; its text is another."""
        uses: list[SystemUse] = []
        context = self._context.of_body(function_id, arguments)
        context = replace(context, named=[], system_uses=uses, scopes=None)
        plan = QueryBinder(context).bind(tree)
        self._context.system_uses.extend(replace(use, position=None) for use in uses)
        return plan

    def _common_table(self, name: str) -> LogicalPlan | None:
        """The common table expression of that name, as it is read here: perhaps from a subquery deeper than its own."""
        found = self._common.get(name)
        if found is None:
            return None
        if found.plan is None:
            raise FeatureNotSupported(f'WITH query "{name}" does not have a RETURNING clause')
        if self._context.outer is found.outer:
            return found.plan
        inner = self._context.outer
        return with_correlated(found.plan, lambda ref: _read_from(ref, found.outer, inner))

    def _add_common(self, with_: exp.With) -> None:
        defined: set[str] = set()
        for cte in with_.expressions:
            name = name_of(cte.args["alias"].this)
            if name in defined:
                message = f'WITH query name "{name}" specified more than once'
                raise SqlError(message, sqlstate="42712", position=begin_of(cte.args["alias"]))
            defined.add(name)
        if isinstance(with_.args.get("recursive"), MutuallyRecursive):
            items = bound_items(with_, self._context, self._bind_among)
            self._common |= {name: CommonTable(plan, self._context.outer) for name, plan in items.items()}
            return
        for cte in in_order(with_) if with_.args.get("recursive") else with_.expressions:
            name = name_of(cte.args["alias"].this)
            plan = self._common_plan(with_, cte, name)
            if plan is not None:
                check_size(plan)  # before the next one reads it several times
            self._common[name] = CommonTable(plan, self._context.outer)

    def _common_plan(self, with_: exp.With, cte: exp.CTE, name: str) -> LogicalPlan | None:
        if isinstance(cte.this, WriteInWith):
            message = "WITH clause containing a data-modifying statement must be at the top level"
            raise FeatureNotSupported(message, position=begin_of(cte.this))
        if isinstance(cte.this, WrittenRows):
            return None if cte.this.rows is None else with_column_names(cte.this.rows, cte, name)
        if cte.meta.get(CHANGELOG):
            return with_column_names(self._change_log(cte.this), cte, name)
        if with_.args.get("recursive") and is_recursive(cte.this, name):
            return bound_recursion(cte, name, self._context, self._bind_knowing)
        if cte.args.get("search") or cte.args.get("cycle"):
            raise SyntaxError_("WITH query is not recursive", position=begin_of(cte.args["alias"]))
        return with_column_names(settled(self.bind(cte.this), self._context.coercer), cte, name)

    def _change_log(self, table: exp.Expr) -> LogicalPlan:
        """The changes of a relation, or of a common table expression."""
        plan, scope = FromBinder(self._context, self._queries()).bind(table, ())
        for column in scope.columns:
            column.note()
        added = (Field("changelog_op", SMALLINT), Field("_changelog_epoch", BIGINT, hidden=True))
        return ChangeLog(plan, (*plan.schema, *added))

    def _bind_among(self, tree: exp.Expr, items: Mapping[str, LogicalPlan]) -> LogicalPlan:
        """Binds a query in which these names are plans, besides those that are known."""
        common = {name: CommonTable(plan, self._context.outer) for name, plan in items.items()}
        return QueryBinder(self._context, {**self._common, **common}).bind(tree)

    def _bind_knowing(self, tree: exp.Expr, name: str, plan: LogicalPlan | None) -> LogicalPlan:
        """Binds a part of a recursive query, in which `name` is `plan`, or nothing."""
        common = {other: table for other, table in self._common.items() if other != name}
        if plan is not None:
            common[name] = CommonTable(plan, self._context.outer)
        return QueryBinder(self._context, common).bind(tree)

    def _expand_view(self, relation: View) -> LogicalPlan:
        """The plan of a view: the stored one, or that of its text, with names looked up in its own schema first."""
        plan = self._plan_of_view(relation)
        self._context.views[id(plan)] = ExpandedView(plan, relation.relation_id)
        return plan

    def _plan_of_view(self, relation: View) -> LogicalPlan:
        if relation.plan is not None:
            return renamed(relation.plan, [column.name for column in relation.columns])
        here = self._context.catalog
        own_path = self._context.search_path if relation.database_id == here.database_id else ()
        own_path = tuple(each for each in own_path if not is_temporary_schema(each))  # what lasts reads what lasts
        path = tuple(dict.fromkeys((relation.schema_name, *own_path)))
        session = replace(
            self._context.session, role_id=None, arguments=()
        )  # its owner's rights count, and not the reader's
        context = make_context(here.seen_from(relation.database_id), path, (), session)
        try:
            plan = bind_settled(context, parse_query(relation.query).tree)
        except SqlError as error:
            error.position = None  # it would count characters of another text
            error.where = f'view "{relation.name}"'
            raise
        plan = converted(plan, lambda operand, i: _as_column(operand, relation.columns[i].type), [1] * len(plan.schema))
        return renamed(plan, [column.name for column in relation.columns])

    # -- VALUES and UNION -----------------------------------------------------------------------------------------

    def values(self, tree: exp.Values) -> Values:
        """Rows of constants; each column is of the rows' common type, or unknown if all are unknown."""
        rows = self.value_rows(tree)
        columns = []
        for operands in zip(*rows, strict=True):
            if all(o.type.kind is TypeKind.UNKNOWN for o in operands):
                columns.append([o.expr for o in operands])
            else:
                columns.append(self._context.coercer.to_common_type(operands, "VALUES")[0])
        fields = tuple(Field(f"column{i}", column[0].type) for i, column in enumerate(columns, 1))
        return Values(tuple(zip(*columns, strict=True)), fields)

    def value_rows(self, tree: exp.Values) -> list[list[Operand]]:
        """The rows of VALUES as they are, each of the same length."""
        binder = ExpressionBinder(self._context, Scope(), "VALUES")
        trees = [row.expressions if isinstance(row, exp.Tuple) else [row] for row in rows_of(tree)]
        check_targets(len(trees[0]))
        for row in trees:
            if not row:
                raise SyntaxError_('syntax error at or near ")"', position=begin_of(tree))
            if len(row) != len(trees[0]):
                raise SyntaxError_("VALUES lists must all be the same length", position=begin_of(row[0]))
        return [[binder.bind(cell) for cell in row] for row in trees]

    def _ordered_and_limited(self, tree: exp.Expr, plan: LogicalPlan) -> LogicalPlan:
        if tree.args.get("order"):
            plan = settled(plan, self._context.coercer)
            operands = [Operand(InputRef(i, f.type), 1) for i, f in enumerate(plan.schema)]
            items = [Item(f.name, o, tree) for f, o in zip(plan.schema, operands, strict=True)]
            plan = sorted_by_output(tree, plan, items)
        return limited(self._context, tree, plan)


def _read_from(ref: CorrelatedRef, defined: Outer | None, inner: Outer | None) -> Expr:
    """How a query whose row around it is `inner` calls what a query around it, at `defined`, calls `ref`."""
    if inner is defined or inner is None:
        return ref
    return inner.reference(_read_from(ref, defined, inner.binder.context.outer))


def _as_column(operand: Operand, target: SqlType) -> Expr:
    return operand.expr if operand.type == target else Cast(operand.expr, target)
