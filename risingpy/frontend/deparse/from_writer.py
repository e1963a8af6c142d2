"""FROM and VALUES as PostgreSQL 15's pg_get_viewdef prints them: get_from_clause_item and its kin of ruleutils.c."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Protocol

from sqlglot import exp

from risingpy.frontend.binder.functions.table_functions import function_of
from risingpy.frontend.binder.scope.columns import UNNAMED
from risingpy.frontend.binder.trees import name_of
from risingpy.frontend.deparse.frames import QueryFrame, column_names, listed
from risingpy.frontend.deparse.from_functions import FunctionItems, relation_of
from risingpy.frontend.deparse.notes import Unprinted
from risingpy.frontend.deparse.operands import Typed, as_type
from risingpy.frontend.deparse.writer import JOINED, Writer
from risingpy.frontend.parser.dialect import COMMA_JOIN, MORE_ROWS, NATURAL_COLUMNS, USING_ALIAS
from risingpy.functions.topics.texts.text import quote_ident
from risingpy.types import DOUBLE, SqlType, TypeKind

if TYPE_CHECKING:
    from risingpy.frontend.deparse.query_writer import QueryWriter


class Names(Protocol):
    """How relations and functions are called where the text is read."""

    def relation(self, tree: exp.Table | exp.Column, hiding: Container[str] = ()) -> str:
        """The relation that a name in FROM means, as the text needs it where common table expressions hide names."""

    def bare_relation(self, tree: exp.Table) -> str:
        """Its own name."""

    def columns(self, tree: exp.Table) -> list[tuple[str, SqlType]]:
        """The names and types of its columns, as the query was bound."""

    def ids(self, tree: exp.Table) -> list[tuple[int, str]]:
        """The ids and names of its columns, as the query was bound."""

    def renamed(self, tree: exp.Table | exp.Column) -> dict[str, str]:
        """The new names of its columns, by the old ones."""

    def listed(self, tree: exp.Table | exp.Column, given: Mapping[int, str]) -> list[str] | None:
        """The names that an alias lists, so that its columns have the `given` ones by their ids."""

    def function(self, schema: str | None, name: str) -> str:
        """A function's name."""

    def type(self, sql_type: SqlType) -> str:
        """A type's name."""


class FromWriter:
    """Writes the FROM clauses of a query."""

    def __init__(self, queries: QueryWriter) -> None:
        self._queries = queries
        self._functions = FunctionItems(queries, self)

    @property
    def _out(self) -> Writer:
        return self._queries.out

    # -- before anything is written -------------------------------------------------------------------------------

    def aliases(self, tree: exp.Select) -> Iterator[str]:
        """What the items of FROM are called, in their order."""
        for item in _leaves(tree):
            yield self.alias(item)

    def note_types(self, tree: exp.Select, frame: QueryFrame) -> None:
        """Notes the types of the columns of subqueries and of common table expressions."""
        queries = self._queries
        for item in _leaves(tree):
            alias, columns = self.alias(item), None
            self._note_renamed(item, alias, tree, frame)
            match item:
                case exp.Table() if self._is_common(item):
                    columns = queries.common[name_of(item.this)]
                case exp.Subquery() if _is_joined(item):
                    pass  # its columns are those of what is joined
                case exp.Subquery():
                    columns = queries.columns_of(item.this if not _has_tail(item) else item)
                case exp.Lateral(this=exp.Subquery()):
                    columns = queries.columns_of(item.this.this)
                case exp.Values():
                    columns = queries.columns_of(item)
            if columns is not None:
                given = column_names(item)
                for place, (name, type_) in enumerate(columns):
                    if type_.kind is not TypeKind.UNKNOWN:
                        frame.types[alias, given[place] if place < len(given) else name] = type_

    def _note_renamed(self, item: exp.Expr, alias: str, tree: exp.Select, frame: QueryFrame) -> None:
        """Notes the columns of a relation that have another name than those by which the query was bound.

        USING takes columns of one name on both sides: there an alias gives the columns their old names, as in
        PostgreSQL.
        """
        relation = _relation_in(item)
        if relation is None or self._is_common(item) or column_names(item):
            return
        renamed = self._queries.names.renamed(relation)
        if renamed and any(name in renamed for join in tree.find_all(exp.Join) for name in _using(join)):
            frame.relisted.add(alias)
        else:
            frame.renamed.update(((alias, old), new) for old, new in renamed.items())

    def has_renamed(self, tree: exp.Table) -> bool:
        """Whether columns of a relation have other names than when the query was bound."""
        return not self._is_common(tree) and bool(self._queries.names.renamed(tree))

    def old_names(self, cte: exp.CTE) -> list[str]:
        """What the columns of `name AS changelog FROM relation` were called when the query was bound."""
        ids = self._queries.names.ids(cte.this)
        given = [name_of(column) for column in cte.args["alias"].args.get("columns") or ()]
        names = {key: given[place] if place < len(given) else name for place, (key, name) in enumerate(ids)}
        return self._queries.names.listed(cte.this, names) or []

    def _is_common(self, tree: exp.Expr) -> bool:
        return (
            isinstance(tree, exp.Table) and tree.args.get("db") is None and name_of(tree.this) in self._queries.common
        )

    def alias(self, tree: exp.Expr) -> str:
        """What the binder calls an item of FROM."""
        alias = tree.args.get("alias")
        if alias is not None and alias.this is not None:
            return name_of(alias.this)
        call = function_of(tree)
        if call is not None:
            return name_of(call.this) if isinstance(call, exp.Anonymous) else call.key
        if isinstance(tree, exp.Table):
            relation = relation_of(tree)
            return name_of(tree.this if relation is None else relation.this)
        return UNNAMED

    # -- writing --------------------------------------------------------------------------------------------------

    def write(self, tree: exp.Select) -> None:
        """Appends the FROM clause."""
        lists = _from_list(tree)
        for place, (first, joins) in enumerate(lists):
            if not place:
                self._out.clause(" FROM ", 2)
                self._joined(first, joins)
                continue
            text = self._queries.captured(partial(self._joined, first, joins))
            self._out.add(", ")
            self._out.next_item(text, is_first=False)

    def _joined(self, first: exp.Expr, joins: Sequence[exp.Join]) -> None:
        """An item with what is joined to it. Without pretty printing each join is in parentheses."""
        if not joins:
            self._item(first)
            return
        out, join = self._out, joins[-1]
        encloses = "" if out.pretty else "("
        out.add(encloses)
        self._joined(first, joins[:-1])
        using = _using(join)
        words = _words_of(join, using)
        out.clause(f" {words} ", JOINED)
        right_joins = _is_joined(join.this) and join.this.args.get("alias") is None
        out.add("(" * (out.pretty and right_joins))
        self._item(join.this)
        out.add(")" * (out.pretty and right_joins))
        if using:
            out.add(f" USING ({', '.join(map(quote_ident, using))})")
            out.add(f" AS {quote_ident(name_of(join.meta[USING_ALIAS]))}" if USING_ALIAS in join.meta else "")
        elif join.args.get("on") is not None:
            out.add(" ON " + encloses)
            self._queries.expressions.write(self._queries.conversion.condition(join.args["on"]), shows_implicit=False)
            out.add(")" * bool(encloses))
        elif words != "CROSS JOIN":  # NATURAL without common columns
            out.add(" ON TRUE")
        out.add(")" * bool(encloses))

    def _item(self, tree: exp.Expr) -> None:
        if tree.args.get("joins"):
            self._joined_parts(tree)
            return
        match tree:
            case exp.Table() | exp.Unnest() | exp.Lateral() if function_of(tree) is not None:
                self._functions.write(tree)
            case exp.Table(this=exp.Anonymous()):
                self._functions.write_of_relation(tree)
            case exp.Table():
                self._table(tree)
            case exp.Subquery() if _is_joined(tree) and tree.args.get("alias") is not None:
                self._out.add("(" * self._out.pretty)
                self._item(tree.this)
                self._out.add(")" * self._out.pretty)
                self._out.add(f" {self.called(tree)}{listed(self.all_columns(tree) if column_names(tree) else ())}")
            case exp.Subquery() if _is_joined(tree):
                self._item(tree.this)
            case exp.Subquery():
                self._subquery(tree if _has_tail(tree) else tree.this, tree, "")
            case exp.Lateral() if isinstance(tree.this, exp.Subquery):
                self._subquery(tree.this.this, tree, "LATERAL ")
            case exp.Values():
                self._out.add("( ")
                self.values(tree, ())
                self._out.add(f") {self.called(tree)}{listed(column_names(tree))}")
            case _:
                raise Unprinted(tree.key)

    def _joined_parts(self, tree: exp.Expr) -> None:
        joins = tree.args["joins"]
        tree.set("joins", None)
        try:
            self._joined(tree, joins)
        finally:
            tree.set("joins", joins)

    def _table(self, tree: exp.Table) -> None:
        is_common = self._is_common(tree)
        own = name_of(tree.this) if is_common else self._queries.names.bare_relation(tree)
        self._out.add(self.table_name(tree))
        if tree.args.get("version") is not None:
            self._out.add(" FOR SYSTEM_TIME AS OF PROCTIME()")
        called = self._queries.frames.top.names[self.alias(tree)]
        alias = tree.args.get("alias")
        lists = bool(column_names(tree)) or self.alias(tree) in self._queries.frames.top.relisted
        if called != own or lists or (alias is not None and alias.this is not None):
            self._out.add(f" {quote_ident(called)}")
        if lists:
            self._out.add(listed(self.all_columns(tree)))
        if tree.args.get("sample") is not None:
            self._sample(tree.args["sample"])

    def _sample(self, sample: exp.TableSample) -> None:
        self._out.add(f" TABLESAMPLE {name_of(sample.args['method'])} (")
        for place, argument in enumerate(sample.expressions):
            self._out.add(", " if place else "")
            self._constant(argument, DOUBLE)
        self._out.add(")")
        if sample.args.get("seed") is not None:
            self._out.add(" REPEATABLE (")
            self._constant(sample.args["seed"], DOUBLE)
            self._out.add(")")

    def _constant(self, tree: exp.Expr, wanted: SqlType) -> None:
        self._queries.expressions.write(as_type(self._queries.conversion.typed(tree), wanted), shows_implicit=False)

    def table_name(self, tree: exp.Table) -> str:
        """What stands in FROM of a relation or a common table expression."""
        return (
            quote_ident(name_of(tree.this))
            if self._is_common(tree)
            else self._queries.names.relation(tree, self._queries.common)
        )

    def columns_of_table(self, tree: exp.Table) -> list[tuple[str, SqlType]]:
        """The names and types of the columns of a relation or a common table expression."""
        return self._queries.common[name_of(tree.this)] if self._is_common(tree) else self._queries.names.columns(tree)

    def all_columns(self, tree: exp.Expr) -> list[str]:
        """The names of all columns of an item whose alias lists some: of a relation, of all that it has now."""
        for table in self._queries.frames.top.scope.tables:
            if table.alias == self.alias(tree):
                shown = [column for column in table.columns if not column.hidden]
                ids = {column.column_id: column.name for column in shown if column.use is not None}
                relation = None if self._is_common(tree) else _relation_in(tree)
                listed_now = None if relation is None else self._queries.names.listed(relation, ids)
                if listed_now is None:
                    return [column.name for column in shown]
                return [*listed_now, *(column.name for column in shown if column.use is None)]
        raise Unprinted("an item without columns")

    def _subquery(self, query: exp.Expr, tree: exp.Expr, prefix: str) -> None:
        self._out.add(f"{prefix}(")
        self._queries.write(query, visible=True)
        self._out.add(f") {self.called(tree)}{listed(column_names(tree))}")

    def called(self, tree: exp.Expr) -> str:
        """The name of an item of FROM, in quotes if it needs them."""
        return quote_ident(self._queries.frames.top.names[self.alias(tree)])

    # -- VALUES ---------------------------------------------------------------------------------------------------

    def rows(self, tree: exp.Values) -> list[list[Typed]]:
        """The rows of VALUES."""
        if tree.meta.get(MORE_ROWS):
            raise Unprinted("rows that are one text")
        rows = [row.expressions if isinstance(row, exp.Tuple) else [row] for row in tree.expressions]
        return [[self._queries.conversion.typed(cell) for cell in row] for row in rows]

    def values(self, tree: exp.Values, types: Sequence[SqlType]) -> None:
        """Appends VALUES, whose columns have these types where the place says them."""
        known = [type_ for _, type_ in self._queries.columns_of(tree)]
        wanted = [*types, *known[len(types) :]]
        self._out.add("VALUES ")
        for place, row in enumerate(self.rows(tree)):
            self._out.add(", (" if place else "(")
            for column, (cell, want) in enumerate(zip(row, wanted, strict=True)):
                self._out.add("," if column else "")
                self._queries.expressions.write(as_type(cell, want), shows_implicit=False)
            self._out.add(")")


def _words_of(join: exp.Join, using: Sequence[str]) -> str:
    """What stands between the items of a join."""
    method, side, word = (str(join.args.get(key) or "").upper() for key in ("method", "side", "kind"))
    has_condition = bool(using) or join.args.get("on") is not None
    if word == "CROSS" or join.meta.get(COMMA_JOIN) or not (has_condition or side):
        return "CROSS JOIN"
    return " ".join(part for part in ("ASOF" if method == "ASOF" else "", side, "JOIN") if part)


def _using(join: exp.Join) -> list[str]:
    """The columns of USING, and those that NATURAL stands for."""
    return [name_of(column) for column in join.args.get("using") or ()] or join.meta.get(NATURAL_COLUMNS) or []


def _relation_in(item: exp.Expr) -> exp.Table | exp.Column | None:
    """The name of a relation of the catalog in an item of FROM, if the item is one, or TUMBLE of one."""
    if not isinstance(item, exp.Table):
        return None
    if isinstance(item.this, exp.Identifier):
        return item
    return relation_of(item)


def _from_list(tree: exp.Select) -> list[tuple[exp.Expr, list[exp.Join]]]:
    """The items between the commas, each with its joins."""
    items: list[tuple[exp.Expr, list[exp.Join]]] = [(tree.args["from_"].this, [])]
    for join in tree.args.get("joins") or ():
        if join.meta.get(COMMA_JOIN):
            items.append((join.this, []))
        else:
            items[-1][1].append(join)
    return items


def _leaves(tree: exp.Select) -> Iterator[exp.Expr]:
    """The relations, functions and subqueries of FROM, in their order."""
    if tree.args.get("from_") is None:
        return
    for first, joins in _from_list(tree):
        for item in (first, *(join.this for join in joins)):
            yield from _leaves_of(item)


def _leaves_of(item: exp.Expr) -> Iterator[exp.Expr]:
    if isinstance(item, exp.Subquery) and _is_joined(item):
        yield from _leaves_of(item.this)
        if item.args.get("alias") is not None:
            yield item
    else:
        yield item
    for join in item.args.get("joins") or ():
        yield from _leaves_of(join.this)


def _is_joined(tree: exp.Expr) -> bool:
    """Whether parentheses hold an item of FROM, and not a query."""
    if not isinstance(tree, exp.Subquery):
        return False
    inner = tree.this
    if isinstance(inner, exp.Table | exp.Unnest | exp.Lateral):
        return True
    if not isinstance(inner, exp.Subquery | exp.Values):
        return False
    return bool(inner.args.get("joins") or inner.args.get("alias")) or _is_joined(inner)


def _has_tail(tree: exp.Expr) -> bool:
    return any(tree.args.get(key) for key in ("order", "limit", "offset", "with_"))
