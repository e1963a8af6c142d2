"""SHOW of catalog objects and system parameters."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence

from risingpy.errors import WrongObjectType
from risingpy.frontend.command import Command, Parameters
from risingpy.frontend.job_progress import CREATE_TYPES, progress_text
from risingpy.frontend.parser.ast import ObjectName, ParsedStatement, Show, ShowKind
from risingpy.frontend.results import CommandTag, Result
from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.statements.describe import bind_columns, named_relation
from risingpy.frontend.statements.text_table import text_fields, text_rows
from risingpy.frontend.system_catalog.constraints.listed import shown_definition
from risingpy.frontend.system_catalog.index_text import included_names, key_text, ordered_text
from risingpy.frontend.system_catalog.pg_settings import visible_parameters
from risingpy.frontend.system_catalog.rw_sources import shown_options
from risingpy.plan.catalog import (
    ExternalSource,
    Index,
    MaterializedView,
    RelationClass,
    Sink,
    Subscription,
    Table,
    View,
    is_temporary,
    is_temporary_schema,
)
from risingpy.plan.catalog.functions import shown_type
from risingpy.plan.catalog.rights import owns
from risingpy.types import SqlType

Rows = list[tuple[str | None, ...]]
Like = Callable[[str | None], bool]

_RELATIONS: dict[ShowKind, RelationClass] = {
    ShowKind.TABLES: Table,
    ShowKind.MATERIALIZED_VIEWS: MaterializedView,
    ShowKind.VIEWS: View,
    ShowKind.SOURCES: ExternalSource,
    ShowKind.SINKS: Sink,
    ShowKind.SUBSCRIPTIONS: Subscription,
}
_CREATE: dict[ShowKind, RelationClass] = {
    ShowKind.CREATE_TABLE: Table,
    ShowKind.CREATE_MATERIALIZED_VIEW: MaterializedView,
    ShowKind.CREATE_VIEW: View,
    ShowKind.CREATE_SOURCE: ExternalSource,
    ShowKind.CREATE_SINK: Sink,
    ShowKind.CREATE_SUBSCRIPTION: Subscription,
}
_HEADINGS = {
    ShowKind.PARAMETERS: ("Name", "Value"),
    ShowKind.JOBS: ("Id", "Statement", "Create Type", "Progress"),
    ShowKind.FUNCTIONS: ("Name", "Arguments", "Return Type", "Language", "Link"),
    ShowKind.SUBSCRIPTION_CURSORS: ("Name", "Subscription", "Since"),
    ShowKind.CONNECTIONS: ("Name", "Type", "Properties"),
    ShowKind.INDEXES: ("Name", "On", "Key", "Include", "Distributed By"),
}


def bind(
    session: StatementContext, parsed: ParsedStatement, statement: Show, parameter_types: Sequence[SqlType]
) -> Command:
    """Rows of names under a heading per kind, as in RisingWave; LIKE filters them when the statement runs."""
    if statement.kind is ShowKind.COLUMNS:
        assert statement.name is not None
        return bind_columns(session, statement.name)
    if statement.kind in _CREATE:
        assert statement.name is not None
        return _bind_create(session, statement.name, _CREATE[statement.kind])
    fields = text_fields(*_HEADINGS.get(statement.kind, ("Name",)))
    like = _pattern(statement.like)

    def run(parameters: Parameters) -> Result:
        rows = _rows(session, statement, like)
        return Result(CommandTag("SHOW"), fields, text_rows(fields, rows))

    return Command(run, fields)


def _rows(session: StatementContext, statement: Show, like: Like) -> Rows:
    if statement.kind is ShowKind.INDEXES:
        return _indexes(session, statement, like)
    if statement.kind in _RELATIONS:
        return _relations(session, _RELATIONS[statement.kind], statement.schema, like)
    if statement.kind in (ShowKind.SECRETS, ShowKind.CONNECTIONS):
        return [row for row in _hidden(session, statement) if like(row[0])]
    return [row for row in _others(session, statement.kind) if like(row[0])]


def _hidden(session: StatementContext, statement: Show) -> Rows:
    """Secrets or connections of a schema, or of the search path. No value that is secret is among the properties."""
    catalog = session.database.reads.catalog
    schemas = session.search_path() if statement.schema is None else (statement.schema,)
    if statement.kind is ShowKind.SECRETS:
        return sorted((each.name,) for each in catalog.own_secrets if each.schema_name in schemas)
    return sorted(
        (each.name, each.type, json.dumps(shown_options(each, catalog.secrets), ensure_ascii=False))
        for each in catalog.own_connections
        if each.schema_name in schemas
    )


def _others(session: StatementContext, kind: ShowKind) -> Rows:
    database = session.database
    match kind:
        case ShowKind.SCHEMAS:
            return [(name,) for name in sorted(database.reads.catalog.schemas) if not is_temporary_schema(name)]
        case ShowKind.DATABASES:
            return sorted((each.name,) for each in database.reads.catalog.databases.values())
        case ShowKind.PARAMETERS:
            shown = database.introspection.parameters()
            return sorted(visible_parameters(shown, database.reads.catalog, session.identity.current_id).items())
        case ShowKind.JOBS:
            return _jobs(session)
        case ShowKind.FUNCTIONS:
            return sorted(
                (f.name, ", ".join(map(shown_type, f.argument_types)), f.result_text, f.language.value, None)
                for f in database.reads.catalog.own_functions
            )
        case ShowKind.INTERNAL_TABLES:
            return sorted((table.name,) for table in database.reads.catalog.own_internal_tables)
        case ShowKind.SUBSCRIPTION_CURSORS:
            return _subscription_cursors(session)
    return []  # RisingPy has no objects of the other kinds


def _jobs(session: StatementContext) -> Rows:
    """What reads the rows of its upstreams, what is dropped and has rows left, and what is behind."""
    introspection = session.database.introspection
    behind = {each.relation.relation_id: each for each in introspection.set_aside()}
    rows: Rows = []
    catalog, role_id = session.database.reads.catalog, session.identity.current_id
    for each in introspection.ddl_progress():
        relation = each.relation
        if is_temporary(relation) and not owns(catalog, role_id, relation.owner):  # another session's SUBSCRIBE
            continue
        behind.pop(relation.relation_id, None)
        create_type = CREATE_TYPES[session.ddl.jobs.is_awaited(relation.relation_id)]
        rows.append((str(relation.relation_id), relation.definition, create_type, progress_text(each)))
    rows += [(str(key), statement, None, f"{n} rows left to delete") for key, statement, n in introspection.drops()]
    for job in behind.values():
        text = f"{job.seconds:.1f} s behind, in epochs of its own: {job.reason}"
        rows.append((str(job.relation.relation_id), job.relation.definition, None, text))
    return rows


def _subscription_cursors(session: StatementContext) -> Rows:
    """This session's subscription cursors, each with the epoch after which its next changes are read."""
    relations = session.database.reads.catalog.relations
    cursors = (
        (name, relations.get(each.subscription_id), each) for name, each in session.subscription_cursors.named().items()
    )
    return sorted((name, None if found is None else found.name, str(each.after)) for name, found, each in cursors)


def _indexes(session: StatementContext, statement: Show, like: Like) -> Rows:
    """The indexes of a relation, or of all relations on the search path."""
    catalog, path = session.database.reads.catalog, session.search_path()
    only = None if statement.name is None else named_relation(session, statement.name)
    rows: Rows = []
    for index in catalog.own_relations:
        if not isinstance(index, Index) or not like(index.name):
            continue
        indexed = catalog.indexed_by(index)
        if indexed == only if only is not None else indexed.schema_name in path:
            is_ordered = index.index.nearest is None  # a graph has no order
            keys = [ordered_text(key, indexed, ascending=" ASC" if is_ordered else "") for key in index.index.keys]
            spread = [key_text(key, indexed) for key in index.index.keys[: index.index.distributed_by]]
            cells = (", ".join(keys), ", ".join(included_names(index, indexed)), ", ".join(spread))
            rows.append((index.name, indexed.name, *cells))
    return sorted(rows)


def _relations(session: StatementContext, kind: RelationClass, schema: str | None, like: Like) -> Rows:
    """Names, qualified only if the bare name means another relation; LIKE compares the bare names."""
    catalog, path = session.database.reads.catalog, session.search_path()
    schemas: Iterable[str] = path if schema is None else (schema,)
    of_kind = (r for r in catalog.own_relations if isinstance(r, kind) and not is_temporary(r))
    shown = (r for r in of_kind if r.schema_name in schemas and like(r.name))
    return sorted((r.name if catalog.find(r.name, None, path) == r else r.qualified_name,) for r in shown)


def _bind_create(session: StatementContext, name: ObjectName, kind: RelationClass) -> Command:
    relation = named_relation(session, name)
    if not isinstance(relation, kind):
        raise WrongObjectType(f'"{relation.name}" is not a {kind.noun}', position=name.position)
    fields = text_fields("Name", "Create Sql")
    rows = [(relation.qualified_name, shown_definition(session.database.reads.catalog, relation))]
    return Command(lambda parameters: Result(CommandTag("SHOW"), fields, text_rows(fields, rows)), fields)


def _pattern(like: str | None) -> Like:
    """LIKE on the name; every name without one."""
    if like is None:
        return lambda name: True
    parts = (".*" if char == "%" else "." if char == "_" else re.escape(char) for char in like)
    expression = re.compile("".join(parts), re.DOTALL)
    return lambda name: expression.fullmatch(name or "") is not None
