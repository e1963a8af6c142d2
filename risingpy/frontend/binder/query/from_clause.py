"""FROM: relations, views (expanded), subqueries, common table expressions and joins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import zip_longest

from sqlglot import exp

from risingpy.errors import (
    FeatureNotSupported,
    InsufficientPrivilege,
    SqlError,
    SyntaxError_,
    WrongObjectType,
)
from risingpy.frontend.binder.expressions.expression_binder import ExpressionBinder
from risingpy.frontend.binder.functions.gap_fill import bind_gap_fill
from risingpy.frontend.binder.functions.table_functions import GAP_FILL, expanded, function_of
from risingpy.frontend.binder.functions.time_windows import bind_time_window
from risingpy.frontend.binder.plans import ONE_ROW
from risingpy.frontend.binder.query.as_of import as_of_condition, as_of_condition_error, tie_columns, within
from risingpy.frontend.binder.query.joins import (
    Item,
    cross,
    join_condition,
    join_using,
    joined,
    null_extended,
    side_by_side,
    unconditional,
    with_markers,
    with_using_alias,
)
from risingpy.frontend.binder.query.lateral_reads import no_lateral_reference
from risingpy.frontend.binder.query.relations import (
    check_alias_count,
    find_relation,
    row_of_sequence,
    scan,
    with_aliases,
)
from risingpy.frontend.binder.query.row_timestamp import with_row_timestamp
from risingpy.frontend.binder.query.sql_functions import sql_function_item
from risingpy.frontend.binder.query.table_sample import no_table_to_sample, sampled
from risingpy.frontend.binder.query.temporal import temporal_kind, without_version
from risingpy.frontend.binder.scope.columns import (
    UNNAMED,
    Scope,
    ScopeTable,
    check_names,
    relation_scope,
)
from risingpy.frontend.binder.scope.context import BindContext, NamedRelation, Outer, SystemUse
from risingpy.frontend.binder.scope.uses import RelationUse
from risingpy.frontend.binder.trees import begin_of, name_of, position_of, refuse_unknown
from risingpy.frontend.parser.dialect import COMMA_JOIN, NATURAL_COLUMNS, USING_ALIAS
from risingpy.frontend.parser.parser_tools import START
from risingpy.frontend.system_catalog.pg_roles import FOR_SUPERUSERS
from risingpy.frontend.system_catalog.registry import find_system_relation, system_scan
from risingpy.plan.catalog import NumberSequence, Relation, Sink, Subscription, View
from risingpy.plan.expressions import Expr
from risingpy.plan.logical import Apply, Filter, JoinKind, LogicalPlan

_CALL = "call"  # meta key of a relation that is an argument: the item that calls the function
_JOIN_PARTS = ("this", "on", "using", "method", "side", "kind")
_RELATIONS_OF_FUNCTIONS = {"pg_show_all_settings": "pg_settings"}
_JOIN_KINDS = {"": JoinKind.INNER, "LEFT": JoinKind.LEFT, "RIGHT": JoinKind.RIGHT, "FULL": JoinKind.FULL}


@dataclass(frozen=True, slots=True)
class CommonTable:
    """A common table expression; `outer` is what its query could read when it was bound.

    `plan` is None for a statement without RETURNING, of which nothing can be read.
    """

    plan: LogicalPlan | None
    outer: Outer | None


@dataclass(frozen=True, slots=True)
class Queries:
    """What FROM needs of the query binder: subqueries, common table expressions, and the text of views."""

    bind: Callable[[exp.Expr], LogicalPlan]
    expand_view: Callable[[View], LogicalPlan]
    common: Callable[[str], LogicalPlan | None]


class FromBinder:
    """Binds a FROM clause: each item to a plan and its names, and all of them to one."""

    def __init__(self, context: BindContext, queries: Queries) -> None:
        self._context = context
        self._queries = queries

    def bind(self, first: exp.Expr, joins: Sequence[exp.Join]) -> Item:
        """`first` and all that is joined to it. A comma binds looser than JOIN."""
        items = [self._item(first)]
        for join in joins:
            lateral = isinstance(join.this, exp.Lateral) or function_of(join.this) is not None
            temporal = join.this.args.get("version") is not None
            if lateral or temporal:  # a row that comes, of all that stands before it, looks it up, or is read by it
                items = [reduce(cross, items)]
            if join.meta.get(COMMA_JOIN) and not lateral and not temporal:
                items.append(self._item(join.this))
            else:
                items[-1] = self._join(items[-1], join)
        return reduce(cross, items)

    # -- items ----------------------------------------------------------------------------------------------------

    def _item(self, tree: exp.Expr) -> Item:
        self._context.session.check()
        match tree:
            case exp.Table(this=exp.Anonymous() as call) if (relation := _relation_of(call)) is not None:
                item = self._table(_as_relation(tree, call, relation))
            case exp.Table() | exp.Unnest() | exp.Lateral() if function_of(tree) is not None:
                item = self._function(None, tree)
            case exp.Table():
                item = self._table(tree)
            case exp.Subquery() | exp.Values():
                item = self._subquery(tree)
            case exp.Lateral():  # the first item: there is nothing before it
                item = self._lateral(tree, None)[0]
            case _:
                raise FeatureNotSupported(f"{tree.key.upper()} in FROM is not supported", position=begin_of(tree))
        for join in tree.args.get("joins") or ():
            item = self._join(item, join)
        return item

    def _table(self, tree: exp.Table) -> Item:
        if isinstance(tree.this, exp.Func):
            return self._of_relation(tree, name_of(tree.this.this))
        if tree.args.get("rows_from"):
            raise SyntaxError_("ROWS FROM takes calls of functions", position=position_of(tree))
        refuse_unknown(
            tree,
            ("this", "db", "catalog", "alias", "joins", "only", "sample"),  # no table inherits from another
            {
                "when": "FOR … AS OF",
                "version": "FOR SYSTEM_TIME AS OF anywhere but on the right of a JOIN",
            },
        )
        name, schema = name_of(tree.this), name_of(tree.args.get("db")) or None
        alias = tree.args.get("alias")
        common = self._queries.common(name) if schema is None else None
        system = find_system_relation(schema, name) if common is None else None
        sample = tree.args.get("sample")
        if sample is not None and (common is not None or system is not None):
            raise no_table_to_sample(position_of(tree))
        plan: LogicalPlan
        owner: str | None
        use: RelationUse | None = None
        if common is not None:
            plan, owner = common, None
        elif system is not None:
            self._context.system_uses.append(SystemUse(system.name, position_of(tree), is_relation=True))
            if system.name in FOR_SUPERUSERS and not self._context.session.is_superuser:
                kind = "view" if system.name == "pg_shadow" else "table"
                raise InsufficientPrivilege(f"permission denied for {kind} {system.name}")
            plan, owner = system_scan(system), system.schema
        else:
            database = name_of(tree.args.get("catalog")) or None
            relation = find_relation(self._context, name, schema, position_of(tree), database)
            self._context.dependencies.append(relation.relation_id)
            self._note(tree, relation)
            use = RelationUse(relation)
            self._context.uses.append(use)
            plan, owner = self._relation(relation, position_of(tree)), relation.schema_name
            if sample is not None:
                plan = sampled(self._context, sample, relation, plan, position_of(tree))
            plan = with_row_timestamp(self._context, tree, relation, plan)
        has_alias = alias is not None and alias.this is not None
        shown = name_of(alias.this) if alias is not None and has_alias else name
        plan = with_aliases(plan, shown, alias)
        return plan, relation_scope(shown, None if has_alias else owner, plan.schema, relation=name, use=use)

    def _of_relation(self, tree: exp.Table, name: str) -> Item:
        """TUMBLE(t, …), HOP(t, …) or GAP_FILL(t, …), called as the relation if it has no alias."""
        refuse_unknown(tree, ("this", "alias", "joins"), {"sample": "TABLESAMPLE", "when": "FOR … AS OF"})
        relation, *arguments = tree.this.expressions or [None]
        if not isinstance(relation, exp.Column) or relation.args.get("db") is not None:
            raise SyntaxError_(f"{name.upper()} needs the name of a relation first", position=position_of(tree))
        table = exp.Table(this=relation.this, db=relation.args.get("table"))
        table.meta.update({**relation.this.meta, START: begin_of(relation) - 1, _CALL: tree})
        plan, scope = self._table(table)
        if name == GAP_FILL:
            plan = bind_gap_fill(self._context, arguments, plan, scope, position_of(tree))
        else:
            plan = bind_time_window(self._context, name, arguments, plan, scope, position_of(tree))
        alias = tree.args.get("alias")
        shown = name_of(alias.this) if alias is not None and alias.this is not None else name_of(relation.this)
        plan = with_aliases(plan, shown, alias)
        use = next((column.use for column in scope.columns), None)
        return plan, relation_scope(shown, None, plan.schema, use=use)

    def _note(self, tree: exp.Table, relation: Relation) -> None:
        """Notes where the query names the relation, and whether it calls it otherwise."""
        call = tree.meta.get(_CALL)
        alias = (tree if call is None else call).args.get("alias")
        has_alias = (alias is not None and alias.this is not None) or isinstance(tree.parent, exp.CTE)
        noted = NamedRelation(begin_of(tree) - 1, relation.relation_id, has_alias, is_argument=call is not None)
        self._context.named.append(noted)

    def _relation(self, relation: Relation, position: int | None) -> LogicalPlan:
        if isinstance(relation, View):
            return self._queries.expand_view(relation)
        if isinstance(relation, Sink):
            hint = "A sink writes rows elsewhere, and has none to read."
            raise WrongObjectType(f'"{relation.name}" is a sink', hint=hint, position=position)
        if isinstance(relation, Subscription):
            hint = "DECLARE name SUBSCRIPTION CURSOR FOR it, or SUBSCRIBE TO it."
            raise WrongObjectType(f'"{relation.name}" is a subscription', hint=hint, position=position)
        if isinstance(relation, NumberSequence):
            self._context.system_uses.append(SystemUse(relation.name, position, is_relation=True))
            return row_of_sequence(relation)
        return scan(relation)

    def _subquery(self, tree: exp.Subquery | exp.Values) -> Item:
        sample = tree.args.get("sample")
        if sample is not None:
            raise SyntaxError_("TABLESAMPLE is for tables only", position=position_of(sample.args["method"]))
        alias = tree.args.get("alias")
        if _is_joined(tree):  # (a JOIN b ON …)
            item = self._item(tree.this)
            if alias is None:
                return item
            plan, scope = item
            names = [name_of(c.this if isinstance(c, exp.ColumnDef) else c) for c in alias.args.get("columns") or ()]
            visible = [column for column in scope.columns if not column.hidden]
            check_alias_count(name_of(alias.this), len(visible), len(names))
            columns = tuple(
                replace(column, name=name) if name is not None else column
                for column, name in zip_longest(visible, names)
            )
            return plan, Scope((ScopeTable(name_of(alias.this), None, columns),), columns)
        # As in PostgreSQL since 16, and in RisingWave: without an alias there is only no name for its columns.
        shown = UNNAMED if alias is None or alias.this is None else name_of(alias.this)
        query: exp.Expr = tree
        if isinstance(tree, exp.Subquery) and not any(tree.args.get(k) for k in ("order", "limit", "offset", "with_")):
            query = tree.this
        plan = with_aliases(self._queries.bind(query), shown, alias)
        return plan, relation_scope(shown, None, plan.schema)

    def _lateral(self, tree: exp.Lateral, left: Item | None) -> tuple[Item, tuple[Expr, ...]]:
        """A subquery that may read columns of `left`, and which of its values it reads."""
        alias = tree.args.get("alias")
        if not isinstance(tree.this, exp.Subquery):
            raise SqlError("LATERAL needs a subquery or a function", sqlstate="42601", position=position_of(tree))
        if left is None:
            return self._subquery(_aliased(tree.this, alias)), ()
        assert self._context.subqueries is not None
        outer = Outer(ExpressionBinder(self._context, left[1], "FROM clause of their own query level"))
        binder = FromBinder(self._context, replace(self._queries, bind=lambda q: self._lateral_query(q, outer)))
        return binder._subquery(_aliased(tree.this, alias)), tuple(outer.values)

    def _lateral_query(self, tree: exp.Expr, outer: Outer) -> LogicalPlan:
        assert self._context.subqueries is not None
        return self._context.subqueries(tree, outer)

    # -- joins ----------------------------------------------------------------------------------------------------

    def _join(self, left: Item, join: exp.Join) -> Item:
        plan, scope = self._bound_join(left, join)
        return plan, null_extended(scope, len(left[1].tables), str(join.args.get("side") or "").upper())

    def _bound_join(self, left: Item, join: exp.Join) -> Item:
        refuse_unknown(join, _JOIN_PARTS, {"match_condition": "MATCH_CONDITION"})
        method, side, word = (str(join.args.get(key) or "").upper() for key in ("method", "side", "kind"))
        if method == "ASOF" and side in ("", "LEFT") and word in ("", "INNER", "OUTER"):
            return self._join_as_of(left, join, JoinKind.ASOF_LEFT if side else JoinKind.ASOF)
        if method not in ("", "NATURAL") or word not in ("", "INNER", "OUTER", "CROSS") or side not in _JOIN_KINDS:
            shown = " ".join(part for part in (method, side, word, "JOIN") if part)
            raise FeatureNotSupported(f"{shown} is not supported", position=position_of(join))
        is_on = method != "NATURAL" and not join.args.get("using")
        if function_of(join.this) is not None and side in ("", "LEFT") and is_on:
            return self._join_function(left, join, side)
        if isinstance(join.this, exp.Lateral):
            return self._join_lateral(left, join, side, word)
        version = join.this.args.get("version")
        right = self._item(without_version(join.this) if version is not None else join.this)
        kind = _JOIN_KINDS[side]
        if version is not None:
            kind = temporal_kind(kind, version, position_of(join.this))
        else:
            left, right = with_markers(left, right, side)
        if word == "CROSS" or join.meta.get(COMMA_JOIN):
            return unconditional(left, right, kind)
        if method == "NATURAL":
            names = {c.name for c in right[1].columns if not c.hidden}
            using = [c.name for c in left[1].columns if not c.hidden and c.name in names]
            if not using:
                return unconditional(left, right, kind)
            join.meta[NATURAL_COLUMNS] = using
            return join_using(self._context, left, right, kind, using, position_of(join))
        if join.args.get("using"):
            using = [name_of(column) for column in join.args["using"]]
            plan, scope = join_using(self._context, left, right, kind, using, begin_of(join.args["using"][0]))
            alias = join.meta.get(USING_ALIAS)
            return plan, scope if alias is None else with_using_alias(scope, name_of(alias), len(using))
        scope = side_by_side(left, right)
        return joined(left[0], right[0], kind, join_condition(self._context, scope, join.args["on"])), scope

    def _join_as_of(self, left: Item, join: exp.Join, kind: JoinKind) -> Item:
        right = self._item(join.this)
        scope = side_by_side(left, right)
        if join.args.get("on") is None:
            raise as_of_condition_error(position_of(join))
        condition = join_condition(self._context, scope, join.args["on"])
        parts = as_of_condition(condition, len(left[0].schema), kind, position_of(join))
        nearest = replace(joined(left[0], right[0], kind, parts.nearest), ties=tie_columns(right[0]))
        return within(nearest, parts.tolerance), scope

    def _function(self, left: Item | None, tree: exp.Expr, *, outer: bool = False) -> Item:
        """The rows of a function's call, for each row of `left`; in scope are the call's columns only."""
        item = (ONE_ROW, Scope()) if left is None else left
        binder = ExpressionBinder(self._context, item[1], "functions in FROM")
        of_sql = sql_function_item(left, binder, tree, outer=outer)
        return of_sql if of_sql is not None else expanded(item, binder, tree, outer=outer)

    def _join_function(self, left: Item, join: exp.Join, side: str) -> Item:
        """A function may read what stands before it."""
        on = join.args.get("on")
        outer = side == "LEFT"
        if outer and not (isinstance(on, exp.Boolean) and on.this):
            return self._join_lateral(left, _as_lateral(join), side, "")
        plan, own = self._function(left, join.this, outer=outer)
        check_names(left[1], own)
        scope = Scope(left[1].tables + own.tables, left[1].columns + own.columns)
        if on is not None and not outer:
            condition = join_condition(self._context, scope, on)
            plan = Filter(plan, condition)
        return plan, scope

    def _join_lateral(self, left: Item, join: exp.Join, side: str, word: str) -> Item:
        right, args = self._lateral(join.this, left)
        scope = side_by_side(left, right)
        schema = left[0].schema + right[0].schema
        if side in ("RIGHT", "FULL") and args:
            raise no_lateral_reference(join.this, left[1], args[0])
        if word == "CROSS" or join.meta.get(COMMA_JOIN):
            return Apply(left[0], right[0], JoinKind.CROSS, args, None, schema), scope
        if not join.args.get("on"):
            raise FeatureNotSupported("USING or NATURAL with LATERAL is not supported", position=position_of(join))
        condition = join_condition(self._context, scope, join.args["on"])
        if not args:
            return joined(left[0], right[0], _JOIN_KINDS[side], condition), scope
        return Apply(left[0], right[0], _JOIN_KINDS[side], args, condition, schema), scope


def _relation_of(call: exp.Anonymous) -> str | None:
    """The system relation that has the rows of a function without arguments."""
    return None if call.expressions else _RELATIONS_OF_FUNCTIONS.get(name_of(call.this))


def _as_relation(tree: exp.Table, call: exp.Anonymous, relation: str) -> exp.Table:
    """`FROM f()` as `FROM pg_catalog.relation AS f`."""
    table = tree.copy()
    table.set("this", exp.to_identifier(relation, quoted=True))
    table.set("db", exp.to_identifier("pg_catalog", quoted=True))
    if tree.args.get("alias") is None:
        table.set("alias", exp.TableAlias(this=exp.to_identifier(name_of(call.this), quoted=True)))
    return table


def _is_joined(tree: exp.Expr) -> bool:
    """Whether parentheses hold an item of FROM, as in `((a JOIN b ON …) JOIN c ON …)`, and not a query."""
    inner = tree.this
    match inner:
        case exp.Table() | exp.Unnest() | exp.Lateral():
            return True
        case exp.Subquery() | exp.Values():
            return bool(inner.args.get("joins") or inner.args.get("alias")) or _is_joined(inner)
    return False


def _as_lateral(join: exp.Join) -> exp.Join:
    """`JOIN f(x) AS g ON …` as `JOIN LATERAL (SELECT * FROM f(x) AS g) AS g ON …`."""
    call, alias = function_of(join.this), join.this.args.get("alias")
    name = alias.this if alias is not None and alias.this is not None else None
    if name is None:
        name = exp.to_identifier(name_of(call.this) if isinstance(call, exp.Anonymous) else "unnest", quoted=True)
    query = exp.Subquery(this=exp.select(exp.Star()).from_(join.this.copy()))
    lateral = join.copy()
    lateral.set("this", exp.Lateral(this=query, alias=exp.TableAlias(this=name.copy())))
    return lateral


def _aliased(tree: exp.Subquery, alias: exp.Expr | None) -> exp.Subquery:
    """The subquery under the alias that stands behind it; its query is the very tree, by which notes are found."""
    aliased = exp.Subquery(**{**tree.args, "alias": None if alias is None else alias.copy()})
    aliased.meta.update(tree.meta)
    return aliased
