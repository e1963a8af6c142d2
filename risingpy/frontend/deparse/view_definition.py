"""A query printed anew from what it means: a view's for who asks for it, and a reader's after an ALTER."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

from risingpy.errors import SqlError
from risingpy.frontend.binder import bind_query
from risingpy.frontend.binder.query.query import BoundQuery, bind_settled
from risingpy.frontend.binder.statement import make_context
from risingpy.frontend.deparse.catalog_names import CatalogNames
from risingpy.frontend.deparse.edited_names import with_edited_names
from risingpy.frontend.deparse.notes import Notes, Unprinted
from risingpy.frontend.deparse.query_writer import QueryWriter
from risingpy.frontend.deparse.same_meaning import same_meaning, same_reading
from risingpy.frontend.deparse.sight import bound_query_of, called_by, sight_of
from risingpy.frontend.parser import parse_query
from risingpy.frontend.system_catalog.system_relation import typed_query
from risingpy.meta.schema.alter import RelationReader
from risingpy.plan.catalog import DEFAULT_SCHEMA, Catalog, QueryRelation
from risingpy.plan.logical import Field
from risingpy.types import SqlType

LOG = logging.getLogger(__name__)


def deparsed(view: QueryRelation, catalog: Catalog, search_path: Sequence[str], *, pretty: bool) -> str | None:
    """The query as PostgreSQL prints it, with a semicolon at its end; None if it has no such form.

    A text is given only if the session with that search path would bind it to the plan that the view has. `catalog` is
    that of the view's database.
    """
    typed = typed_query(view)
    try:
        shown = [Field(c.name, c.shown_type) for c in view.columns if not c.hidden]
        text = _written(view, typed, (catalog, catalog), search_path, shown, pretty=pretty)
        before = bound_query_of(view, parse_query(typed), catalog)
        again = bind_query(parse_query(text), catalog, search_path)
    except Unprinted as unprinted:
        LOG.debug('%s "%s" is shown as it was written: %s', view.noun, view.name, unprinted)
        return None
    except SqlError as error:
        LOG.debug('%s "%s" is shown as it was written: %s', view.noun, view.name, error)
        return None
    except Exception as error:  # a query that nobody thought of: the catalog's other rows are shown all the same
        LOG.warning('%s "%s" cannot be printed anew: %s: %s', view.noun, view.name, type(error).__name__, error)
        return None
    if _types(before) != _types(again) or not same_meaning(before.plan, again.plan):
        LOG.debug('%s "%s" is shown as it was written: it was read as %s', view.noun, view.name, text)
        return None
    return f"{text};"


def followed(reader: RelationReader, text: str, before: Catalog, after: Catalog) -> str | None:
    """A reader's query under the names of the catalog `after`; None if it has no form that means the same there.

    A text that still means the same stays. Raises what binding it in `before` raises.
    """
    meant = bound_query_of(reader, parse_query(text), before)
    bodies_in = sight_of(reader, before)
    names = [[each.name for each in catalog.databases.values()] for catalog in (before, after)]
    if names[0] == names[1] and _means(text, meant, bodies_in, after):  # the binder does not read a database's name
        return text
    try:
        shown = [field for field in meant.shown_fields if not field.hidden]
        printed = _written(reader, text, (before, after), (DEFAULT_SCHEMA,), shown, pretty=True).strip()
        if _means(printed, meant, bodies_in, after):
            return printed
    except Unprinted as unprinted:
        LOG.debug('%s "%s" cannot be printed anew: %s', reader.noun, reader.name, unprinted)
    calls = [
        (each, after.functions[each.function_id])
        for each in called_by(reader, before)
        if each.function_id in after.functions
    ]
    texts = with_edited_names(text, meant.named, calls, before, after)
    return next((each for each in texts if _means(each, meant, bodies_in, after)), None)


def _means(text: str, meant: BoundQuery, bodies_in: tuple[Catalog, tuple[str, ...]], after: Catalog) -> bool:
    """Whether the text is, in the catalog `after`, what was meant before: same columns, same rows.

    It has to be so for whoever runs it, and not only where the schemas that it needs are searched. Bodies of functions
    are texts that stay, and fail when they are called next; in the reader's plan they mean what they have meant.
    """
    before, _ = bodies_in
    try:
        again = bind_query(parse_query(text), after, (DEFAULT_SCHEMA,), bodies_in=bodies_in)
    except SqlError:
        return False
    names = [[field.name for field in bound.fields if not field.hidden] for bound in (meant, again)]
    return (
        names[0] == names[1] and _types(meant) == _types(again) and same_reading(meant.plan, before, again.plan, after)
    )


def _types(bound: BoundQuery) -> list[SqlType]:
    return [field.type for field in bound.fields if not field.hidden]


def _written(
    reader: RelationReader,
    text: str,
    catalogs: tuple[Catalog, Catalog],
    search_path: Sequence[str],
    shown: Sequence[Field],
    *,
    pretty: bool,
) -> str:
    """The query, which is bound in the first of the catalogs, with the names of the second; `shown` are its columns."""
    before, after = catalogs
    tree = parse_query(text).tree
    seen, path = sight_of(reader, before)
    plain = make_context(seen, path)
    notes = Notes(plain.types)
    notes.number(tree)
    context = replace(plain, node_binders=notes.binders(plain.node_binders), scopes=notes.scopes)
    bind_settled(context, tree)
    named = {each.start: each.relation_id for each in context.named}
    names = CatalogNames(after, search_path, before, named, called_by(reader, before))
    writer = QueryWriter(notes, names, pretty=pretty)
    writer.write(tree, visible=True, names=[f.name for f in shown], types=[f.type for f in shown])
    return writer.out.text
