"""What relations, columns, functions and types are called in a printed query, which may have been bound earlier."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

from sqlglot import exp

from risingpy.frontend.binder.trees import begin_of, name_of
from risingpy.frontend.deparse.notes import Unprinted
from risingpy.frontend.system_catalog.registry import find_system_relation
from risingpy.functions.topics.texts.text import quote_ident
from risingpy.plan.catalog import Catalog, CreatedRelation, FunctionDesc
from risingpy.types import SqlType, TypeKind


class CatalogNames:
    """What a query names, as a session with a search path has to write it.

    The query was bound in the catalog `bound_in`, and the names are those of `catalog`: an object is known by its id.
    """

    def __init__(
        self,
        catalog: Catalog,
        search_path: Sequence[str],
        bound_in: Catalog,
        named: Mapping[int, int],
        functions: Sequence[FunctionDesc],
    ) -> None:
        self._catalog = catalog
        self._path = tuple(search_path)
        self._bound_in = bound_in
        self._named = named  # relations' ids by where their names stand
        self._functions = {each.name: each for each in functions}

    def relation(self, tree: exp.Table | exp.Column, hiding: Container[str] = ()) -> str:
        """The relation that a name in FROM means, with its schema if its name alone does not find it.

        `hiding` are the names of common table expressions.
        """
        found = self._found(tree)
        if found is None:
            assert isinstance(tree, exp.Table)
            schema = name_of(tree.args.get("db"))
            shown = f"{quote_ident(schema)}." if schema not in ("", "pg_catalog") else ""
            return shown + quote_ident(name_of(tree.this))
        if found.database_id != self._catalog.database_id:
            database = self._catalog.databases[found.database_id].name
            return ".".join(map(quote_ident, (database, found.schema_name, found.name)))
        if found.name not in hiding and self._catalog.find(found.name, None, self._path) is found:
            return quote_ident(found.name)
        return f"{quote_ident(found.schema_name)}.{quote_ident(found.name)}"

    def bare_relation(self, tree: exp.Table) -> str:
        """Its own name, as it is now."""
        found = self._found(tree)
        return name_of(tree.this) if found is None else found.name

    # -- columns --------------------------------------------------------------------------------------------------

    def columns(self, tree: exp.Table) -> list[tuple[str, SqlType]]:
        """The names of its columns as the query was bound, and their types."""
        return [(each.name, each.shown_type) for each in self._relation_bound(tree).columns if not each.hidden]

    def ids(self, tree: exp.Table) -> list[tuple[int, str]]:
        """The ids and names of its columns as the query was bound."""
        return [(each.column_id, each.name) for each in self._relation_bound(tree).columns if not each.hidden]

    def renamed(self, tree: exp.Table | exp.Column) -> dict[str, str]:
        """The new names of its columns, by the old ones."""
        found = self._found(tree)
        if found is None:
            return {}
        now = {each.column_id: each.name for each in found.columns}
        before = self._relation_bound(tree).columns
        return {each.name: now[each.column_id] for each in before if now.get(each.column_id, each.name) != each.name}

    def listed(self, tree: exp.Table | exp.Column, given: Mapping[int, str]) -> list[str] | None:
        """The names that an alias lists, so that its columns have those `given` by id; None of no relation."""
        found = self._found(tree)
        if found is None:
            return None
        return [given.get(each.column_id, each.name) for each in found.columns if not each.hidden]

    # -- functions and types --------------------------------------------------------------------------------------

    def function(self, schema: str | None, name: str) -> str:
        """A function's name, with its schema if it is a user's that its name alone does not find."""
        found = self._functions.get(name)
        if found is None or schema not in (None, found.schema_name):
            return quote_ident(name)
        now = self._catalog.functions.get(found.function_id, found)
        if now.schema_name in self._path:
            return quote_ident(now.name)
        return f"{quote_ident(now.schema_name)}.{quote_ident(now.name)}"

    def type(self, sql_type: SqlType) -> str:
        """A type, with its schema if it is a user's that its name alone does not find."""
        made = sql_type.leaf.enum or sql_type.leaf.composite
        if sql_type.kind is TypeKind.CHARACTER and sql_type.length is None:
            return "bpchar"
        if made is None:
            return str(sql_type)
        now = self._catalog.types.get(made.oid)
        name, schema = (made.name, made.schema_name) if now is None else (now.name, now.schema_name)
        found = self._catalog.find_type(name, None, self._path)
        is_found = found is not None and found.type_id == made.oid
        shown = quote_ident(name) if is_found else f"{quote_ident(schema)}.{quote_ident(name)}"
        return shown + "[]" * sql_type.depth

    def _found(self, tree: exp.Table | exp.Column) -> CreatedRelation | None:
        """The relation as it is now; None of one of the system."""
        relation_id = self._named.get(begin_of(tree) - 1)
        if relation_id is not None:
            return self._catalog.relations[relation_id]
        if find_system_relation(name_of(tree.args.get("db")) or None, name_of(tree.this)) is None:
            raise Unprinted("a relation that is none of the catalog")
        return None

    def _relation_bound(self, tree: exp.Table | exp.Column) -> CreatedRelation:
        relation_id = self._named.get(begin_of(tree) - 1)
        if relation_id is None:
            raise Unprinted("a relation of the system")
        return self._bound_in.relations[relation_id]
