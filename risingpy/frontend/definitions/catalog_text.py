"""All statements of a catalog, in order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import chain

from risingpy.frontend.definitions.comment_texts import comment_texts
from risingpy.frontend.definitions.dependencies import Described, ordered_objects
from risingpy.frontend.definitions.relation_texts import RelationTexts
from risingpy.frontend.definitions.rights_texts import RightsTexts
from risingpy.frontend.definitions.rows_query import rows_of
from risingpy.frontend.definitions.server_texts import last_texts, server_texts
from risingpy.frontend.definitions.step import Chapter, Definition
from risingpy.meta.writing.sequence_counters import SequencePosition
from risingpy.plan.catalog import (
    Catalog,
    ConnectionDesc,
    DomainDesc,
    ExternalSource,
    FunctionDesc,
    NumberSequence,
    SecretDesc,
    Sink,
    Table,
)

PositionOf = Callable[[NumberSequence], SequencePosition | None]


def definitions(catalog: Catalog, parameters: Mapping[str, str], position: PositionOf) -> Iterator[Definition]:
    """Statements that make an empty server's catalog this one: of all databases, with roles, rights and comments.

    `parameters` are those of ALTER SYSTEM, and `position` tells where a sequence stands.
    """
    texts, rights = RelationTexts(catalog), RightsTexts(catalog)
    objects = ordered_objects(catalog)
    hidden: list[SecretDesc | ConnectionDesc] = [*catalog.secrets.values(), *catalog.connections.values()]
    yield from server_texts(catalog, parameters)
    types = [catalog.types[key] for key in sorted(catalog.types)]  # a domain is younger than what it is over
    yield from map(texts.user_type, types)
    yield from map(texts.secret, catalog.secrets.values())
    yield from map(texts.connection, catalog.connections.values())
    first, sinks = [each for each in objects if _is_before_rows(each)], [each for each in objects if _is_sink(each)]
    later = [each for each in objects if not (_is_before_rows(each) or _is_sink(each))]
    for each in first:
        for step in texts.created(each, Chapter.TABLES):
            yield step if step.kind != Table.noun else replace(step, rows=rows_of(catalog, each))
    for each in objects:
        if isinstance(each, Table):
            yield from texts.foreign_keys(each)
        elif isinstance(each, NumberSequence):
            yield from texts.ownership(each)
            yield from texts.position(each, position(each))
    for domain in types:
        if isinstance(domain, DomainDesc):
            yield from texts.later_constraints(domain)
    for each in chain(later, sinks):  # what leaves the database leaves it when all else is there
        yield from texts.created(each, Chapter.VIEWS)
    for found in (*hidden, *catalog.types.values()):
        yield from rights.of_object(found)
    for each in objects:
        yield from rights.of_object(each)
    yield from rights.of_server()
    yield from comment_texts(catalog)
    yield from last_texts(catalog)


def _is_before_rows(found: Described) -> bool:
    return isinstance(found, Table | NumberSequence | ExternalSource | FunctionDesc)


def _is_sink(found: Described) -> bool:
    return isinstance(found, Sink)
