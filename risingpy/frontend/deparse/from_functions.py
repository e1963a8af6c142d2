"""Functions in FROM as PostgreSQL 15's pg_get_viewdef prints them, and RisingWave's TUMBLE and HOP of a relation.

UNNEST(a, b)             unnest of several arrays, or with ordinality
ROWS FROM(f(x), g(y))    several functions in step
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sqlglot import exp

from risingpy.frontend.binder.functions.table_functions import OF_RELATIONS, function_of, users_schema
from risingpy.frontend.binder.trees import name_of
from risingpy.frontend.binder.typing.type_names import resolve_type
from risingpy.frontend.deparse.frames import column_names, listed
from risingpy.frontend.deparse.nodes import Called, Listed, Spelled
from risingpy.frontend.deparse.notes import Unprinted
from risingpy.frontend.deparse.operands import settled
from risingpy.frontend.parser.parser_tools import TYPE_TEXT
from risingpy.functions.topics.texts.text import quote_ident

if TYPE_CHECKING:
    from risingpy.frontend.deparse.from_writer import FromWriter
    from risingpy.frontend.deparse.query_writer import QueryWriter


class FunctionItems:
    """Writes the calls of a FROM clause."""

    def __init__(self, queries: QueryWriter, items: FromWriter) -> None:
        self._queries = queries
        self._items = items

    def write(self, tree: exp.Expr) -> None:
        """A call, or several in ROWS FROM, with ordinality and the names of all columns."""
        parts = tree.args.get("rows_from") or [tree]
        calls = [self._call(part) for part in parts]
        first = function_of(parts[0])
        ordinality = bool(tree.args.get("ordinality") or (isinstance(first, exp.Unnest) and first.args.get("offset")))
        if any(function_of(part).find(exp.Column) is not None for part in parts):  # type: ignore[union-attr]
            self._queries.out.add("LATERAL ")
        args = tuple(arg for call in calls for arg in call.args or ())
        made: Called | Listed = calls[0]
        if all(call.name == "unnest" for call in calls) and len(args) > 1:
            made = Listed("UNNEST(", args, ")")
        elif len(calls) > 1:
            defined = zip(calls, map(self._definitions, parts), strict=True)
            items = (Spelled((call, f" AS {columns}")) if columns else call for call, columns in defined)
            made = Listed("ROWS FROM(", tuple(items), ")")
        self._queries.expressions.write(made, shows_implicit=True)
        self._queries.out.add(" WITH ORDINALITY" * ordinality)
        columns = self._definitions(tree) or listed(self._items.all_columns(tree))
        self._queries.out.add(f" {self._items.called(tree)}{columns}")

    def _definitions(self, tree: exp.Expr) -> str:
        """`(a integer, b text)`, where the call's alias defines columns."""
        alias = tree.args.get("alias")
        parts = []
        for column in (alias.args.get("columns") or ()) if alias is not None else ():
            if not isinstance(column, exp.ColumnDef) or column.args.get("kind") is None:
                return ""
            kind = resolve_type(str(column.args["kind"].meta[TYPE_TEXT]), 1, self._queries.notes.types)
            parts.append(f"{quote_ident(name_of(column.this))} {self._queries.names.type(kind)}")
        return f"({', '.join(parts)})" if parts else ""

    def _call(self, tree: exp.Expr) -> Called:
        call = function_of(tree)
        if call is None:
            raise Unprinted("a column definition list")
        if isinstance(call, exp.Unnest):
            name, schema = "unnest", None
        elif isinstance(call, exp.Anonymous):
            name, schema = name_of(call.this), users_schema(call)
        else:
            raise Unprinted(call.key)
        args = tuple(settled(self._queries.conversion.typed(argument)).node for argument in call.expressions)
        return Called(self._queries.function_name(schema, name), args)

    # -- functions of relations -----------------------------------------------------------------------------------

    def write_of_relation(self, tree: exp.Table) -> None:
        """TUMBLE(t, at, size): the columns that the arguments name are those of the relation."""
        relation = relation_of(tree)
        if relation is None:
            raise Unprinted("a function that is none of relations")
        out = self._queries.out
        out.add(f"{name_of(tree.this.this)}({self._queries.names.relation(relation, self._queries.common)}")
        renamed = self._queries.names.renamed(relation)
        for argument in tree.this.expressions[1:]:
            out.add(", ")
            self._argument(argument, renamed)
        out.add(")")
        called = self._items.called(tree)
        out.add(f" {called}")
        if column_names(tree) or self._items.alias(tree) in self._queries.frames.top.relisted:
            out.add(listed(self._items.all_columns(tree)))

    def _argument(self, tree: exp.Expr, renamed: Mapping[str, str]) -> None:
        out = self._queries.out

        def called(column: exp.Column) -> str:
            return quote_ident(renamed.get(name_of(column.this), name_of(column.this)))

        match tree:
            case exp.Column():
                out.add(called(tree))
            case exp.Anonymous() if all(isinstance(each, exp.Column) for each in tree.expressions):
                out.add(f"{name_of(tree.this)}({', '.join(map(called, tree.expressions))})")
            case _:
                self._queries.expressions.write(self._queries.conversion.node(tree), shows_implicit=True)


def relation_of(tree: exp.Table) -> exp.Column | None:
    """The relation that TUMBLE and its like are called with."""
    call = tree.this
    if not isinstance(call, exp.Anonymous) or name_of(call.this) not in OF_RELATIONS:
        return None
    first = call.expressions[0] if call.expressions else None
    return first if isinstance(first, exp.Column) else None
