"""Queries as PostgreSQL 15's pg_get_viewdef prints them: get_query_def and its kin of ruleutils.c."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import reduce

from sqlglot import exp

from risingpy.errors import UndefinedTable
from risingpy.frontend.binder.expressions.output_names import output_name
from risingpy.frontend.binder.scope.columns import Scope, ScopeColumn
from risingpy.frontend.binder.scope.stars import star_columns
from risingpy.frontend.binder.trees import name_of
from risingpy.frontend.deparse.calls import CALLS, window_text
from risingpy.frontend.deparse.clauses import ClauseWriter
from risingpy.frontend.deparse.comparisons import COMPARISONS
from risingpy.frontend.deparse.conversion import EXPRESSIONS, Conversion
from risingpy.frontend.deparse.expression_writer import ExpressionWriter
from risingpy.frontend.deparse.frames import Frames, QueryFrame, TargetItem
from risingpy.frontend.deparse.from_writer import FromWriter, Names
from risingpy.frontend.deparse.nodes import Name, Node
from risingpy.frontend.deparse.notes import NotedColumn, Notes, Unprinted, table_of
from risingpy.frontend.deparse.operands import Typed, as_type
from risingpy.frontend.deparse.types_shown import operand_types, text_of
from risingpy.frontend.deparse.with_items import (
    Columns,
    begin_of_with,
    declared_columns,
    definitions,
    items_in_order,
)
from risingpy.frontend.deparse.writer import STANDARD, Writer
from risingpy.frontend.parser.with_parser import CHANGELOG
from risingpy.functions.topics.texts.text import quote_ident
from risingpy.types import SMALLINT, UNKNOWN, SqlType, TypeKind
from risingpy.types.system_types import TEXT

FORMS = {**EXPRESSIONS, **COMPARISONS, **CALLS}
_TAIL = ("with_", "order", "limit", "offset")


class QueryWriter:
    """Writes one query. `names` says how relations and functions are called."""

    def __init__(self, notes: Notes, names: Names, *, pretty: bool) -> None:
        self.notes = notes
        self.names = names
        self.out = Writer(pretty=pretty)
        self.frames = Frames()
        self.expressions = ExpressionWriter(self.out, names.type, lambda tree: self.write(tree, visible=False))
        self.conversion = Conversion(notes, self, FORMS)
        self._from = FromWriter(self)
        self._clauses = ClauseWriter(self)
        self._frames: dict[int, QueryFrame] = {}
        self.common: dict[str, Columns] = {}

    # -- what conversions ask -------------------------------------------------------------------------------------

    def column(self, noted: NotedColumn) -> tuple[Name, SqlType]:
        """A column as the text calls it, and its type."""
        given = noted.column
        if noted.table is None:
            return Name(None, given.name), text_of(given.expr.type)
        frame = self.frames.of(noted.table.alias, noted.depth)
        if noted.table.alias not in frame.names:
            raise Unprinted("a column of what PostgreSQL does not have in FROM, such as TUMBLE")
        if given.parts:
            return Name(None, frame.names[noted.table.alias]), text_of(given.expr.type)
        known = frame.types.get((noted.table.alias, given.name))
        if given.use is not None:
            known = next(c.shown_type for c in given.use.relation.columns if c.column_id == given.column_id)
        shown = frame.renamed.get((noted.table.alias, given.name), given.name)
        return Name(frame.names[noted.table.alias], shown), known or text_of(given.expr.type)

    def function_name(self, schema: str | None, name: str) -> str:
        """The name of a function as the text needs it."""
        return self.names.function(schema, name)

    # -- what each query gives, before it is written --------------------------------------------------------------

    def columns_of(self, tree: exp.Expr) -> Columns:
        """The names and types of a query's columns; a type that nothing said is UNKNOWN."""
        common = self._with(tree)
        try:
            match tree:
                case exp.Subquery() | exp.Paren():
                    return self.columns_of(tree.this)
                case exp.SetOperation():
                    left, right = self.columns_of(tree.this), self.columns_of(tree.expression)
                    if tree.args.get("by_name"):
                        names = [name_of(each) for each in tree.args.get("on") or ()] or [name for name, _ in left]
                        right = [(name, of) for wanted in names for name, of in right if name == wanted]
                        left = [(name, of) for wanted, _ in right for name, of in left if name == wanted]
                    return [
                        (name, one if one.kind is not TypeKind.UNKNOWN else other)
                        for (name, one), (_, other) in zip(left, right, strict=True)
                    ]
                case exp.Values():
                    rows = self._from.rows(tree)
                    types = [_common([c.type for c in col if not c.is_unknown]) for col in zip(*rows, strict=True)]
                    return [(f"column{i}", type_) for i, type_ in enumerate(types, 1)]
                case exp.Select():
                    return [(item.name, item.operand.type) for item in self.prepared(tree).items]
            raise Unprinted(tree.key)
        finally:
            self.common = common

    def _with(self, tree: exp.Expr) -> dict[str, Columns]:
        """Makes the common table expressions of a query known; gives those that were known before."""
        before = self.common
        with_ = tree.args.get("with_")
        if with_ is not None:
            declared = declared_columns(with_, self.notes.types)
            self.common = {**before, **declared}
            with self._within(tree):
                for cte in () if declared else items_in_order(with_):
                    self._add_common(cte)
        return before

    @contextmanager
    def _within(self, tree: exp.Expr) -> Iterator[None]:
        """What is done while the names of a SELECT's FROM are taken: common table expressions have others."""
        if not isinstance(tree, exp.Select):
            yield
            return
        self.frames.push(self._named(tree))
        try:
            yield
        finally:
            self.frames.pop()

    def _named(self, tree: exp.Select) -> QueryFrame:
        """The frame of a SELECT, whose FROM items have their names."""
        frame = self._frames.get(id(tree))
        if frame is None:
            frame = QueryFrame(self.notes.scope(tree) if tree.args.get("from_") is not None else Scope())
            self.frames.name_items(frame, self._from.aliases(tree))
            self._frames[id(tree)] = frame
        return frame

    def _add_common(self, cte: exp.CTE) -> None:
        alias = cte.args["alias"]
        name = name_of(alias.this)
        if cte.meta.get(CHANGELOG):
            columns = [*self._from.columns_of_table(cte.this), ("changelog_op", SMALLINT)]
        elif not isinstance(cte.this, exp.Query | exp.Values):
            raise Unprinted("such a common table expression")
        else:
            first = cte.this.this if isinstance(cte.this, exp.SetOperation) else cte.this  # a recursion begins with it
            columns = [*self.columns_of(first), *_carried(cte)]
        given = [name_of(column) for column in alias.args.get("columns") or ()]
        self.common[name] = [(new, type_) for new, (_, type_) in zip(given, columns, strict=False)] or columns

    def prepared(self, tree: exp.Select) -> QueryFrame:
        """The frame of a SELECT, with the nodes of its columns."""
        frame = self._named(tree)
        if frame.items:
            return frame
        self.frames.push(frame)
        try:
            self._from.note_types(tree, frame)
            for column in tree.expressions:
                frame.items += self._items(column, frame)
        finally:
            self.frames.pop()
        return frame

    def _items(self, tree: exp.Expr, frame: QueryFrame) -> list[TargetItem]:
        columns, depth, scope = self._star(tree)
        if columns is None:
            bare = tree.this if isinstance(tree, exp.Alias) else tree
            return [TargetItem(output_name(tree), self.conversion.typed(bare))]
        noted = [NotedColumn(table_of(scope, column), column, depth) for column in columns]
        return [TargetItem(each.column.name, Typed(*self.column(each))) for each in noted]

    def _star(self, tree: exp.Expr) -> tuple[Sequence[ScopeColumn] | None, int, Scope]:
        """A star's columns, and the FROM that has them, so many SELECTs around this one."""
        around = enumerate(self.frames.scopes())
        while True:
            depth, scope = next(around)
            with suppress(UndefinedTable):  # `t.*` of a row around
                return star_columns(tree, scope), depth, scope

    # -- queries --------------------------------------------------------------------------------------------------

    def write(self, tree: exp.Expr, *, visible: bool, names: Sequence[str] = (), types: Sequence[SqlType] = ()) -> None:
        """Appends a query, as indented as it stands. `names` and `types` are its columns' where the place says them.

        `visible`: what reads the query may see its columns' names.
        """
        indent, common = self.out.indent, self._with(tree)
        try:
            if tree.args.get("with_") is not None:
                with self._within(tree):
                    self._write_with(tree.args["with_"], common)
            self._write_body(tree, visible=visible, names=names, types=types)
        finally:
            self.out.indent, self.common = indent, common

    def _write_body(self, tree: exp.Expr, *, visible: bool, names: Sequence[str], types: Sequence[SqlType]) -> None:
        match tree:
            case exp.Subquery() | exp.Paren():
                encloses = any(tree.args.get(key) for key in _TAIL) and any(tree.this.args.get(key) for key in _TAIL)
                self.out.add("(" * encloses)
                self.write(tree.this, visible=visible, names=names, types=types)
                self.out.add(")" * encloses)
                self._tail(tree)
            case exp.SetOperation():
                known = types or [type_ for _, type_ in self.columns_of(tree)]
                self._write_set_operation(tree, visible=visible, names=names, types=known)
                self._tail(tree)
            case exp.Values():
                self.out.add(" ")
                self._from.values(tree, [text_of(type_) for type_ in types])
                self._tail(tree)
            case exp.Select():
                frame = self.prepared(tree)
                self.frames.push(frame)
                try:
                    self._write_select(tree, frame, visible=visible, names=names, types=types)
                finally:
                    self.frames.pop()
            case _:
                raise Unprinted(tree.key)

    def _tail(self, tree: exp.Expr) -> None:
        """ORDER BY and LIMIT of what is no SELECT itself."""
        if tree.args.get("order") is not None:
            self._clauses.order_of_output(tree, [name for name, _ in self.columns_of(tree)])
        self._clauses.limits(tree)

    def _write_with(self, with_: exp.With, around: dict[str, Columns]) -> None:
        out, known = self.out, self.common
        seen = {name_of(cte.args["alias"].this): 1 for cte in with_.expressions} if with_.args.get("recursive") else {}
        own = {name_of(cte.args["alias"].this) for cte in with_.expressions}
        out.indent += STANDARD
        declared = declared_columns(with_, self.notes.types)
        out.add(begin_of_with(with_))
        for place, cte in enumerate(with_.expressions):
            alias = cte.args["alias"]
            columns = [quote_ident(name_of(column)) for column in alias.args.get("columns") or ()]
            if declared:
                columns = definitions(declared[name_of(alias.this)], self.names.type)
            if cte.meta.get(CHANGELOG) and self._from.has_renamed(cte.this):
                columns = [quote_ident(name) for name in self._from.old_names(cte)]
            materialized = cte.args.get("materialized")
            out.add(", " if place else "")
            out.add(quote_ident(name_of(alias.this)) + (f"({', '.join(columns)})" if columns else "") + " AS ")
            if cte.meta.get(CHANGELOG):
                out.add(f"changelog FROM {self._from.table_name(cte.this)}")
                continue
            out.add("" if materialized is None else "MATERIALIZED " if materialized else "NOT MATERIALIZED ")
            out.add("(")
            out.keyword("")
            self.common = {k: v for k, v in known.items() if k in seen or k not in own or k in around}
            self.write(cte.this, visible=True)
            self.common = known
            seen[name_of(alias.this)] = 1
            out.keyword("")
            out.add(")")
            out.add(_search_and_cycle(cte))
        out.indent -= STANDARD
        out.keyword("")

    def _write_set_operation(
        self, tree: exp.SetOperation, *, visible: bool, names: Sequence[str], types: Sequence[SqlType]
    ) -> None:
        """Another operation at the left is in parentheses unless it is of the same kind, one at the right always."""
        out, left, right = self.out, _unwrapped(tree.this), _unwrapped(tree.expression)
        names = [] if tree.args.get("by_name") else names
        is_all = not tree.args.get("distinct")
        is_same = type(left) is type(tree) and bool(left.args.get("distinct")) != is_all
        encloses = _is_operation(left) and not is_same
        if encloses:
            out.add("(")
            out.keyword("", STANDARD)
        self._write_branch(left, visible=visible, names=names, types=types)
        out.keyword(") " if encloses else "", -STANDARD if encloses else 0)
        out.add(tree.key.upper() + (" ALL " if is_all else " ") + _corresponding(tree))
        encloses = _is_operation(right)
        out.add("(" * encloses)
        out.keyword("", STANDARD if encloses else 0)
        self._write_branch(right, visible=bool(tree.args.get("by_name")), names=names, types=types)
        if encloses:
            out.indent -= STANDARD
            out.keyword(")")

    def _write_branch(self, tree: exp.Expr, *, visible: bool, names: Sequence[str], types: Sequence[SqlType]) -> None:
        if isinstance(tree, exp.SetOperation) and _is_operation(tree):
            self._write_set_operation(tree, visible=visible, names=names, types=types)
            return
        encloses = any(tree.args.get(key) for key in _TAIL)
        self.out.add("(" * encloses)
        self.write(tree, visible=visible, names=names, types=types)
        self.out.add(")" * encloses)

    def _write_select(
        self, tree: exp.Select, frame: QueryFrame, *, visible: bool, names: Sequence[str], types: Sequence[SqlType]
    ) -> None:
        out = self.out
        out.indent += STANDARD
        out.add(" SELECT")
        self._clauses.distinct(tree, frame)
        self._target_list(frame, visible=visible, names=names, types=types)
        if tree.args.get("from_") is not None:
            self._from.write(tree)
        where = tree.args.get("where")
        if where is not None:
            out.clause(" WHERE ", 1)
            self.expressions.write(self.conversion.condition(where.this), shows_implicit=False)
        self._clauses.group_by(tree, frame)
        having = tree.args.get("having")
        if having is not None:
            out.clause(" HAVING ", 0)
            self.expressions.write(self.conversion.condition(having.this), shows_implicit=False)
        for place, window in enumerate(tree.args.get("windows") or ()):
            out.add(", ") if place else out.clause(" WINDOW ", 1)
            out.add(f"{quote_ident(name_of(window.this))} AS (")
            self.expressions.window(window_text(self.conversion, window))
            out.add(")")
        self._clauses.order_by(tree, frame)
        self._clauses.limits(tree)

    def _target_list(self, frame: QueryFrame, *, visible: bool, names: Sequence[str], types: Sequence[SqlType]) -> None:
        for place, item in enumerate(frame.items):
            name = names[place] if place < len(names) else item.name
            wanted = types[place] if place < len(types) and types[place].kind is not TypeKind.UNKNOWN else TEXT
            wanted = text_of(wanted)  # no literal is of type character varying by itself
            node = as_type(item.operand, wanted) if item.operand.is_unknown else item.operand.node
            shown: str | None = node.column if isinstance(node, Name) else None if visible else "?column?"

            def written(node: Node = node) -> None:
                self.expressions.write(node, shows_implicit=True)

            text = self.captured(written) + ("" if shown == name else f" AS {quote_ident(name)}")
            self.out.add(", " if place else " ")
            self.out.next_item(text, is_first=not place)

    def captured(self, write: Callable[[], None]) -> str:
        """What would be appended."""
        before, self.out.text = self.out.text, ""
        write()
        made, self.out.text = self.out.text, before
        return made


def _common(types: Sequence[SqlType]) -> SqlType:
    """The type of a column of VALUES, of which nothing may say it."""
    return reduce(lambda one, other: operand_types("VALUES", one, other)[0], types) if types else TEXT


def _is_operation(tree: exp.Expr) -> bool:
    """Whether a branch is a set operation without clauses of its own, which would make it a query in parentheses."""
    return isinstance(tree, exp.SetOperation) and not any(tree.args.get(key) for key in _TAIL)


def _unwrapped(tree: exp.Expr) -> exp.Expr:
    """A query without parentheses that have nothing of their own."""
    while isinstance(tree, exp.Subquery | exp.Paren) and not any(tree.args.get(key) for key in (*_TAIL, "alias")):
        tree = tree.this
    return tree


def _corresponding(tree: exp.SetOperation) -> str:
    """The words by which an operation takes the columns that have a name in both queries."""
    if not tree.args.get("by_name"):
        return ""
    names = [quote_ident(name_of(each)) for each in tree.args.get("on") or ()]
    return f"CORRESPONDING BY ({', '.join(names)}) " if names else "CORRESPONDING "


def _carried(cte: exp.CTE) -> Columns:
    """The columns that SEARCH and CYCLE add, whose types the binder knows."""
    search, cycle = cte.args.get("search"), cte.args.get("cycle")
    trees = [*([search.this] if search is not None else []), *([cycle.this, cycle.args["using"]] if cycle else [])]
    return [(name_of(tree), UNKNOWN) for tree in trees]


def _search_and_cycle(cte: exp.CTE) -> str:
    text, search, cycle = "", cte.args.get("search"), cte.args.get("cycle")
    if search is not None:
        columns = ", ".join(quote_ident(name_of(each)) for each in search.expressions)
        way = "BREADTH" if search.args.get("breadth") else "DEPTH"
        text += f" SEARCH {way} FIRST BY {columns} SET {quote_ident(name_of(search.this))}"
    if cycle is not None:
        if cycle.args.get("to") is not None:
            raise Unprinted("CYCLE … TO")
        columns = ", ".join(quote_ident(name_of(each)) for each in cycle.expressions)
        text += f" CYCLE {columns} SET {quote_ident(name_of(cycle.this))}"
        text += f" USING {quote_ident(name_of(cycle.args['using']))}"
    return text
