"""The texts of views, sinks and subscriptions when a relation that they name is renamed.

`FROM t` becomes `FROM u AS t`, as in RisingWave. Nothing is searched for by its name: the binder says which words of a
query mean the relation, and these alone are written anew. A new text is kept if it is bound to the same plan.
"""

from __future__ import annotations

import logging
from dataclasses import replace

from sqlglot import exp

from risingpy.errors import FeatureNotSupported, SqlError
from risingpy.frontend.binder import bind_query
from risingpy.frontend.binder.query.query import BoundQuery
from risingpy.frontend.binder.scope.context import NamedRelation
from risingpy.frontend.binder.trees import begin_of, name_of
from risingpy.frontend.parser import parse, parse_query
from risingpy.frontend.parser.ast import (
    CreateMaterializedView,
    CreateSink,
    CreateSubscription,
    CreateView,
    ObjectName,
    Query,
)
from risingpy.frontend.parser.tokenize import end_of_item, end_of_name, is_table_statement
from risingpy.frontend.same_meaning import same_meaning
from risingpy.frontend.table_definition import quoted
from risingpy.meta.schema.alter import RelationReader
from risingpy.plan.catalog import DEFAULT_SCHEMA, Catalog, CreatedRelation, FunctionDesc, Index, QueryRelation, Sink

LOG = logging.getLogger(__name__)
Edit = tuple[int, int, str]  # from, to (characters from 0), and what stands there then


def with_renamed_relations(reader: RelationReader, before: Catalog, after: Catalog) -> RelationReader:
    """The view, sink or subscription of the catalog `before` with the names that `after` has in its texts.

    Raises FeatureNotSupported if no text with the new names means the same.
    """
    try:
        [parsed] = parse(reader.definition)
        statement = parsed.statement
    except SqlError as error:  # written by an earlier version that has not checked it
        LOG.warning('%s "%s" keeps a text that cannot be read: %s', reader.noun, reader.name, error)
        return reader
    assert isinstance(statement, CreateView | CreateMaterializedView | CreateSink | CreateSubscription)
    edits: list[Edit] = []
    query = statement.query if not isinstance(statement, CreateSubscription) else None
    if query is not None:
        edits += _of_query(reader, query, before, after)
    if isinstance(statement, CreateSink | CreateSubscription):
        edits += _of_names(reader, statement, before, after)
    definition = edited(reader.definition, edits)
    if isinstance(reader, QueryRelation) and query is not None:
        start = query.position - 1
        own = [(begin - start, end - start, text) for begin, end, text in edits]
        return replace(reader, query=edited(query.text, own), definition=definition)
    return replace(reader, definition=definition)


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
        if name is not None and relation_id is not None and _is_renamed(relation_id, before, after):
            start = name.position - 1
            end = end_of_name(reader.definition, start)
            edits.append((start, end, _written(after.relations[relation_id], after, qualified=False)))
    return edits


def _read(reader: RelationReader, into: int | None) -> int | None:
    """The one relation that a reader without a query reads."""
    others = [each for each in reader.depends_on if each != into]
    return others[0] if len(others) == 1 else None


def _of_query(reader: RelationReader, query: Query, before: Catalog, after: Catalog) -> list[Edit]:
    """The edits of a query's names, in characters of the definition."""
    offset = query.position - 1
    try:
        bound = bound_query_of(reader, parse_query(query.text), before)
    except SqlError as error:
        LOG.warning('%s "%s" keeps a text that cannot be bound: %s', reader.noun, reader.name, error)
        return []
    tree = parse_query(query.text).tree
    for qualified in (False, True):
        edits = _edits(query.text, tree, bound.named, before, after, qualified=qualified)
        edits += calls_of(query.text, tree, _schemas_of_calls(reader, before, after))
        text = edited(query.text, edits)
        try:
            again = bound_query_of(reader, parse_query(text), after)
        except SqlError:
            continue
        if bound.fields == again.fields and same_meaning(bound.plan, again.plan):
            return [(begin + offset, end + offset, written) for begin, end, written in edits]
    raise FeatureNotSupported(
        f'{reader.noun} "{reader.name}" names the relation in a way that has no form with the new name',
        hint=f"Give it an alias in the query of {reader.noun} {reader.name}.",
    )


def bound_query_of(reader: RelationReader, query: Query, catalog: Catalog) -> BoundQuery:
    """The query as the reader's creator meant it: only what it depends on can be meant, wherever it stands now."""
    kept, rest = dict[int, CreatedRelation](), list(reader.depends_on)
    while rest:
        relation = catalog.relations.get(rest.pop())
        if relation is not None and relation.relation_id not in kept:
            kept[relation.relation_id] = relation
            rest += relation.depends_on
    kept |= {key: each for key, each in catalog.relations.items() if isinstance(each, Index)}
    own = [each.schema_name for each in kept.values() if each.database_id == catalog.database_id]
    own += [each.schema_name for each in called_by(reader, catalog)]
    schemas = dict.fromkeys([DEFAULT_SCHEMA, *own])
    return bind_query(query, replace(catalog, relations=kept), tuple(schemas))


def _edits(
    text: str,
    tree: exp.Expr,
    named: tuple[NamedRelation, ...],
    before: Catalog,
    after: Catalog,
    *,
    qualified: bool,
) -> list[Edit]:
    edits: dict[int, Edit] = {}
    for item in named:
        if not _is_renamed(item.relation_id, before, after):
            continue
        old, new = before.relations[item.relation_id], after.relations[item.relation_id]
        end = end_of_name(text, item.start)
        written = _written(new, after, qualified=qualified)
        needs_alias = not item.has_alias and new.name != old.name
        if needs_alias and is_table_statement(text, item.start):
            begin = text[: item.start].upper().rindex("TABLE")
            edits[begin] = begin, end, f"SELECT * FROM {written} AS {quoted(old.name)}"
            continue
        edits[item.start] = item.start, end, written
        if needs_alias:
            place = end_of_item(text, item.start, is_argument=item.is_argument)
            alias = f" AS {quoted(old.name)}"
            if place == end:
                edits[item.start] = item.start, end, written + alias
            else:
                edits[place] = place, place, alias
        for start, stop in _qualifiers(text, tree, old):
            shown = quoted(old.name) if new.name != old.name else f"{quoted(new.schema_name)}.{quoted(new.name)}"
            edits[start] = start, stop, shown
    return list(edits.values())


def _qualifiers(text: str, tree: exp.Expr, relation: CreatedRelation) -> list[tuple[int, int]]:
    """Where columns are written `schema.table.column`, of a relation that has no alias: the first two words."""
    places = []
    for column in tree.find_all(exp.Column):
        names = name_of(column.args.get("db")), name_of(column.args.get("table"))
        if names == (relation.schema_name, relation.name):
            start = begin_of(column) - 1
            words = 3 if column.args.get("catalog") is not None else 2
            places.append((start, end_of_name(text, start, most=words)))
    return places


def called_by(reader: RelationReader, catalog: Catalog) -> list[FunctionDesc]:
    """The users' functions that a reader calls."""
    ids = reader.functions if isinstance(reader, QueryRelation | Sink) else ()
    return [catalog.functions[each] for each in ids if each in catalog.functions]


def _schemas_of_calls(reader: RelationReader, before: Catalog, after: Catalog) -> dict[str, str]:
    """The new names of the schemas of the functions that a reader calls, by the old ones."""
    named = ((each.schema_name, after.functions[each.function_id].schema_name) for each in called_by(reader, before))
    return {old: new for old, new in named if old != new}


def calls_of(text: str, tree: exp.Expr, schemas: dict[str, str]) -> list[Edit]:
    """The edits where a call is written `schema.function(…)`, of a schema with another name in `schemas`."""
    edits = []
    for node in tree.walk():
        match node:
            case exp.Dot(this=place, expression=exp.Anonymous()):
                schema = place.expression if isinstance(place, exp.Dot) else place
            case exp.Table(this=exp.Anonymous(), args={"db": exp.Identifier() as schema}):
                pass
            case _:
                continue
        if isinstance(schema, exp.Identifier) and name_of(schema) in schemas:
            start = begin_of(schema) - 1
            edits.append((start, end_of_name(text, start, most=1), quoted(schemas[name_of(schema)])))
    return edits


def _is_renamed(relation_id: int, before: Catalog, after: Catalog) -> bool:
    old, new = before.relations.get(relation_id), after.relations.get(relation_id)
    if old is None or new is None:
        return False
    names = (
        (catalog.databases[each.database_id].name, each.schema_name, each.name)
        for catalog, each in ((before, old), (after, new))
    )
    return next(names) != next(names)


def _written(relation: CreatedRelation, catalog: Catalog, *, qualified: bool) -> str:
    """The name in a text of the database that sees the catalog."""
    if relation.database_id != catalog.database_id:
        names = catalog.databases[relation.database_id].name, relation.schema_name, relation.name
        return ".".join(map(quoted, names))
    in_default = relation.schema_name == DEFAULT_SCHEMA and not qualified
    return quoted(relation.name) if in_default else f"{quoted(relation.schema_name)}.{quoted(relation.name)}"


def edited(text: str, edits: list[Edit]) -> str:
    """The text after edits that do not overlap."""
    for start, end, written in sorted(edits, reverse=True):
        text = text[:start] + written + text[end:]
    return text
