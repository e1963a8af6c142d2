"""The texts of views, sinks and subscriptions when what they name gets another name, or its columns do.

A query is printed anew from what it means, as pg_get_viewdef prints it, or else gets the new names alone; the `FROM t`
and `INTO t` of statements without a query are edited.
"""

from __future__ import annotations

import logging
from dataclasses import replace

from risingpy.errors import FeatureNotSupported, SqlError
from risingpy.frontend.binder.ddl.generated import renamed_text
from risingpy.frontend.binder.typing.names_of_types import Edit, edited
from risingpy.frontend.deparse.edited_names import full_name, written_name
from risingpy.frontend.deparse.sight import called_by
from risingpy.frontend.deparse.view_definition import followed
from risingpy.frontend.parser import parse
from risingpy.frontend.parser.ast import (
    CreateMaterializedView,
    CreateSink,
    CreateSubscription,
    CreateView,
    ObjectName,
)
from risingpy.frontend.parser.tokenize import end_of_name
from risingpy.frontend.system_catalog.index_text import index_definition_text, is_spread
from risingpy.meta.schema.alter import RelationReader
from risingpy.plan.catalog import Catalog, Index, QueryRelation, Sink

LOG = logging.getLogger(__name__)


def reread(reader: RelationReader | Index, before: Catalog, after: Catalog) -> RelationReader | Index:
    """`with_new_names` of a reader with a statement; an index with the new names of columns in its expressions."""
    return _index(reader, before, after) if isinstance(reader, Index) else with_new_names(reader, before, after)


def with_new_names(reader: RelationReader, before: Catalog, after: Catalog) -> RelationReader:
    """The view, sink or subscription of the catalog `before` with the names that `after` has in its texts.

    A query keeps its text where that still means the same; else it is printed anew from what it means. Raises
    FeatureNotSupported if no text with the new names means the same.
    """
    if not reader.definition:  # the server has made it, for a job that is set aside, for example
        return reader
    try:
        [parsed] = parse(reader.definition)
        statement = parsed.statement
    except SqlError as error:  # written by an earlier version that has not checked it
        LOG.warning('%s "%s" keeps a text that cannot be read: %s', reader.noun, reader.name, error)
        return reader
    assert isinstance(statement, CreateView | CreateMaterializedView | CreateSink | CreateSubscription)
    edits: list[Edit] = []
    if isinstance(statement, CreateSink | CreateSubscription):
        edits += _of_names(reader, statement, before, after)
    query = statement.query if not isinstance(statement, CreateSubscription) else None
    if query is None:
        return replace(reader, definition=edited(reader.definition, edits))
    try:
        text = followed(reader, query.text, before, after)
    except SqlError as error:
        LOG.warning('%s "%s" keeps a text that cannot be bound: %s', reader.noun, reader.name, error)
        return reader
    if text is None and not _is_renamed(reader, before, after):
        LOG.warning('%s "%s" keeps a text that means another query now', reader.noun, reader.name)
        return reader
    if text is None:
        raise FeatureNotSupported(
            f'{reader.noun} "{reader.name}" names what changes in a way that has no form with the new names',
            hint=f"Drop {reader.noun} {reader.name}, and create it again afterwards.",
        )
    start = query.position - 1
    edits.append((start, start + len(query.text), text))
    definition = edited(reader.definition, edits)
    return (
        replace(reader, query=text, definition=definition)
        if isinstance(reader, QueryRelation)
        else replace(reader, definition=definition)
    )


def _index(index: Index, before: Catalog, after: Catalog) -> Index:
    earlier, indexed = before.indexed_by(index), after.indexed_by(index)
    names = {column.column_id: column.name for column in earlier.columns}
    there = [(names.get(column.column_id, column.name), column.name) for column in indexed.columns]
    renamed = [(old, new) for old, new in there if old != new]
    if not renamed:
        return index

    def followed_text(text: str) -> str:
        for old, new in renamed:
            text = renamed_text(text, old, new)
        return text

    definition = index.index
    keys = tuple(replace(key, text=followed_text(key.text)) for key in definition.keys)
    predicate = definition.predicate
    if predicate is not None:
        predicate = replace(predicate, text=followed_text(predicate.text))
    index = replace(index, index=replace(definition, keys=keys, predicate=predicate))
    return replace(index, definition=index_definition_text(index, indexed, spread=is_spread(index)))


def _of_names(
    reader: RelationReader, statement: CreateSink | CreateSubscription, before: Catalog, after: Catalog
) -> list[Edit]:
    """What FROM and INTO name: by their ids, since a statement has one relation of each."""
    into = reader.into if isinstance(reader, Sink) else None
    named: list[tuple[ObjectName | None, int | None]] = [(statement.relation, _read(reader, into))]
    if isinstance(statement, CreateSink):
        named.append((statement.into, into))
    edits = []
    for name, relation_id in named:
        if name is not None and relation_id is not None and _has_new_name(relation_id, before, after):
            start = name.position - 1
            end = end_of_name(reader.definition, start)
            edits.append((start, end, written_name(after.relations[relation_id], after)))
    return edits


def _read(reader: RelationReader, into: int | None) -> int | None:
    """The one relation that a reader without a query reads."""
    others = [each for each in reader.depends_on if each != into]
    return others[0] if len(others) == 1 else None


def _is_renamed(reader: RelationReader, before: Catalog, after: Catalog) -> bool:
    """Whether a relation that it reads, a column of one, or a function that it calls has another name."""
    calls = [(each, after.functions.get(each.function_id, each)) for each in called_by(reader, before)]
    if any((old.schema_name, old.name) != (new.schema_name, new.name) for old, new in calls):
        return True
    return any(_has_new_name(key, before, after) for key in reader.depends_on) or any(
        column.column_id == now.column_id and column.name != now.name
        for key in reader.depends_on
        if key in before.relations and key in after.relations
        for column in before.relations[key].columns
        for now in after.relations[key].columns
    )


def _has_new_name(relation_id: int, before: Catalog, after: Catalog) -> bool:
    old, new = before.relations.get(relation_id), after.relations.get(relation_id)
    if old is None or new is None:
        return False
    return full_name(old, before) != full_name(new, after)
