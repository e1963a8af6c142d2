"""The texts of pg_get_viewdef: a view's query as it was typed, with the names that a session's search path needs.

SELECT a FROM t   =>   SELECT a FROM public.t      where the search path does not find t, as while pg_dump reads

As in a rename, the binder says which words mean a relation.
"""

from __future__ import annotations

import logging

from sqlglot import exp

from risingpy.errors import SqlError
from risingpy.frontend.binder.trees import begin_of, name_of
from risingpy.frontend.parser import parse, parse_query
from risingpy.frontend.parser.ast import CreateMaterializedView, CreateView
from risingpy.frontend.parser.tokenize import end_of_name
from risingpy.frontend.renamed_text import Edit, bound_query_of, called_by, edited
from risingpy.frontend.system_catalog.system_relation import typed_query
from risingpy.frontend.table_definition import quoted
from risingpy.plan.catalog import Catalog, QueryRelation

LOG = logging.getLogger(__name__)


class ViewTexts:
    """For one session's thread.

    Texts are kept while the catalog and the search path stay: a dump asks for one after the other, and each time of a
    relation that has them all.
    """

    def __init__(self) -> None:
        self._made_for: tuple[int, int, tuple[str, ...]] | None = None
        self._texts: dict[int, str] = {}

    def definition(self, view: QueryRelation, catalog: Catalog, search_path: tuple[str, ...]) -> str:
        """The view's query, with a semicolon at its end."""
        made_for = catalog.version, catalog.database_id, search_path
        if made_for != self._made_for:
            self._made_for, self._texts = made_for, {}
        text = self._texts.get(view.relation_id)
        if text is None:
            text = self._texts[view.relation_id] = _definition(view, catalog, search_path)
        return text


def _definition(view: QueryRelation, catalog: Catalog, search_path: tuple[str, ...]) -> str:
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
    return reads and all(each.schema_name in search_path for each in called_by(view, catalog))


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
        if function is not None and not isinstance(call.parent, exp.Dot):
            start = begin_of(call) - 1
            edits.append((start, start, f"{quoted(function.schema_name)}."))
    return list(dict.fromkeys(edits))
