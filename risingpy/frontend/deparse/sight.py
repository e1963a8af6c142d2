"""What a stored query can mean: a text is bound among the objects that its owner depends on, wherever they are now."""

from __future__ import annotations

from dataclasses import replace

from risingpy.frontend.binder import bind_query
from risingpy.frontend.binder.query.query import BoundQuery
from risingpy.frontend.parser.ast import Query
from risingpy.meta.schema.alter import RelationReader
from risingpy.plan.catalog import DEFAULT_SCHEMA, Catalog, CreatedRelation, FunctionDesc, Index, QueryRelation, Sink


def bound_query_of(reader: RelationReader, query: Query, catalog: Catalog) -> BoundQuery:
    """The query as the reader's creator meant it."""
    return bind_query(query, *sight_of(reader, catalog))


def sight_of(reader: RelationReader, catalog: Catalog) -> tuple[Catalog, tuple[str, ...]]:
    """A catalog and a search path by which a reader's text can mean only what it depends on, wherever that is now."""
    kept, rest = dict[int, CreatedRelation](), list(reader.depends_on)
    while rest:
        relation = catalog.relations.get(rest.pop())
        if relation is not None and relation.relation_id not in kept:
            kept[relation.relation_id] = relation
            rest += relation.depends_on
    kept |= {key: each for key, each in catalog.relations.items() if isinstance(each, Index)}
    own = [each.schema_name for each in kept.values() if each.database_id == catalog.database_id]
    own += [each.schema_name for each in called_by(reader, catalog)]
    schemas = dict.fromkeys([DEFAULT_SCHEMA, *own, *schemas_of_types(catalog)])
    return replace(catalog, relations=kept), tuple(schemas)


def called_by(reader: RelationReader, catalog: Catalog) -> list[FunctionDesc]:
    """The users' functions that a reader calls."""
    ids = reader.functions if isinstance(reader, QueryRelation | Sink) else ()
    return [catalog.functions[each] for each in ids if each in catalog.functions]


def schemas_of_types(catalog: Catalog) -> tuple[str, ...]:
    """Where a stored query may have found a type without its schema."""
    return tuple(dict.fromkeys([DEFAULT_SCHEMA, *(each.schema_name for each in catalog.own_types)]))
