"""The texts of pg_get_viewdef: a view's query printed anew, with the names that a session's search path needs.

A query that PostgreSQL has no form for (a time window, a temporal join) stays as it was typed, but for these names:

SELECT a FROM t   =>   SELECT a FROM public.t      where the search path does not find t, as while pg_dump reads

As in a rename, the binder says which words mean a relation.
"""

from __future__ import annotations

import logging

from sqlglot import exp

from risingpy.errors import SqlError
from risingpy.frontend.binder.trees import begin_of, name_of
from risingpy.frontend.binder.typing.names_of_types import Edit, edited, full_type_name, type_edits
from risingpy.frontend.binder.typing.type_names import KnownTypes
from risingpy.frontend.deparse.edited_names import has_schema
from risingpy.frontend.deparse.sight import bound_query_of, called_by, schemas_of_types
from risingpy.frontend.deparse.table_expressions import printed_expression
from risingpy.frontend.deparse.view_definition import deparsed
from risingpy.frontend.parser import parse, parse_query
from risingpy.frontend.parser.ast import CreateMaterializedView, CreateView
from risingpy.frontend.parser.tokenize import end_of_name
from risingpy.frontend.system_catalog.system_relation import typed_query
from risingpy.frontend.table_definition import quoted
from risingpy.plan.catalog import Catalog, QueryRelation, Relation, UserType
from risingpy.types import SqlType

LOG = logging.getLogger(__name__)


class ViewTexts:
    """For one session's thread.

    Texts are kept while the catalog and the search path stay: a dump asks for one after the other, and each time of a
    relation that has them all.
    """

    def __init__(self) -> None:
        self._made_for: tuple[int, int, tuple[str, ...]] | None = None
        self._texts: dict[tuple[int, bool], str] = {}
        self._expressions: dict[tuple[int, str, SqlType | None, bool], str | None] = {}

    def definition(
        self, view: QueryRelation, catalog: Catalog, search_path: tuple[str, ...], *, pretty: bool = False
    ) -> str:
        """The view's query, with a semicolon at its end; `pretty` without parentheses that it does not need."""
        self._keep_only(catalog, search_path)
        text = self._texts.get((view.relation_id, pretty))
        if text is None:
            text = deparsed(view, catalog, search_path, pretty=pretty) or _typed(view, catalog, search_path)
            self._texts[view.relation_id, pretty] = text
        return text

    def expression(
        self,
        text: str,
        relation: Relation,
        wanted: SqlType | None,
        catalog: Catalog,
        search_path: tuple[str, ...],
        *,
        pretty: bool = False,
    ) -> str | None:
        """See `printed_expression`."""
        self._keep_only(catalog, search_path)
        key = relation.relation_id, text, wanted, pretty
        if key not in self._expressions:
            self._expressions[key] = printed_expression(text, relation, catalog, search_path, wanted, pretty=pretty)
        return self._expressions[key]

    def _keep_only(self, catalog: Catalog, search_path: tuple[str, ...]) -> None:
        made_for = catalog.version, catalog.database_id, search_path
        if made_for != self._made_for:
            self._made_for, self._texts, self._expressions = made_for, {}, {}


def qualified_definition(view: QueryRelation, catalog: Catalog) -> str:
    """The CREATE statement, in which every relation that the query names has its schema.

    `catalog` is that of the view's database. A text that cannot be read stays as it is.
    """
    text = typed_query(view)
    head, found, tail = view.definition.rpartition(text)
    try:
        full = edited(text, _edits(view, text, catalog, ()))
    except SqlError as error:
        LOG.warning('%s "%s" is shown with a text that cannot be read: %s', view.noun, view.name, error)
        full = text
    return f"{head}{full}{tail}" if found else view.definition


def _typed(view: QueryRelation, catalog: Catalog, search_path: tuple[str, ...]) -> str:
    text = typed_query(view)
    try:
        [parsed] = parse(view.definition)
        listed = parsed.statement.column_names if isinstance(parsed.statement, _CREATE) else ()
        if not _are_visible(view, catalog, search_path):
            text = edited(text, _edits(view, text, catalog, search_path))
    except SqlError as error:  # written by an earlier version that has not checked it
        LOG.warning('%s "%s" is shown with a text that cannot be read: %s', view.noun, view.name, error)
        listed = ()
    if listed:
        names = ", ".join(quoted(column.name) for column in listed)
        text = f"SELECT * FROM ({text}) {quoted(view.name)}({names})"
    return f" {text};"


_CREATE = CreateView | CreateMaterializedView


def _are_visible(view: QueryRelation, catalog: Catalog, search_path: tuple[str, ...]) -> bool:
    """Whether bare names find all that the view reads and calls."""
    named = (catalog.relations.get(each) for each in view.depends_on)
    reads = all(each is None or catalog.find(each.name, None, search_path) is each for each in named)
    calls = all(each.schema_name in search_path for each in called_by(view, catalog))
    return reads and calls and all(_finds(each, catalog, search_path) for each in catalog.own_types)


def _finds(created: UserType, catalog: Catalog, search_path: tuple[str, ...]) -> bool:
    """Whether the search path finds a type by its bare name."""
    found = catalog.find_type(created.name, None, search_path)
    return found is not None and found.type_id == created.type_id


def _edits(view: QueryRelation, text: str, catalog: Catalog, search_path: tuple[str, ...]) -> list[Edit]:
    query = parse_query(text)
    edits = []
    for item in bound_query_of(view, query, catalog).named:
        found = catalog.relations[item.relation_id]
        is_here = found.database_id == catalog.database_id
        if is_here and catalog.find(found.name, None, search_path) is not found:
            full = f"{quoted(found.schema_name)}.{quoted(found.name)}"
            edits.append((item.start, end_of_name(text, item.start), full))
    called = {each.name: each for each in called_by(view, catalog) if each.schema_name not in search_path}
    tree = parse_query(text).tree  # binding changes its tree
    for call in tree.find_all(exp.Anonymous):
        function = called.get(name_of(call))
        if function is not None and not has_schema(call):
            start = begin_of(call) - 1
            edits.append((start, start, f"{quoted(function.schema_name)}."))
    named = KnownTypes(catalog, schemas_of_types(catalog))
    edits += type_edits(
        text, tree, named, lambda each: None if _finds(each, catalog, search_path) else full_type_name(each)
    )
    return list(dict.fromkeys(edits))
