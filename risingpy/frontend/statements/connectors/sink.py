"""CREATE SINK, ALTER SINK … SET and WAIT SINK."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from risingpy.connectors.targets.choice import TARGETS_WITHOUT_KEYS
from risingpy.connectors.targets.engine_options import engine_options
from risingpy.connectors.targets.target import SinkType
from risingpy.errors import FeatureNotSupported, InvalidParameterValue, SqlError, WrongObjectType
from risingpy.frontend.binder import BoundView, bind_rows_for_table, bind_view
from risingpy.frontend.command import Command, Parameters
from risingpy.frontend.parser import parse_query
from risingpy.frontend.parser.ast import CreateMaterializedView, CreateSink, ObjectName, ParsedStatement, WaitSink
from risingpy.frontend.parser.ast_alter import AlterSink
from risingpy.frontend.results import CommandTag, Result
from risingpy.frontend.shown_text import shown_text
from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.statements.alter_table import altered_relation
from risingpy.frontend.statements.connectors.given_options import GivenOptions, changed_options, opened_statement
from risingpy.frontend.statements.connectors.options import check_names, with_option_text
from risingpy.frontend.statements.describe import named_relation
from risingpy.frontend.statements.jobs.creation import creation_of
from risingpy.frontend.statements.placing import new_schema, reads_temporaries, skipped
from risingpy.frontend.statements.rights.checks import check_allowed, check_follows, check_reads
from risingpy.frontend.statements.rights.server_rights import check_sink
from risingpy.frontend.table_definition import quoted
from risingpy.meta.schema.sinks import NewSink, with_sink_options
from risingpy.optimizer.stream.closing_column import optimize_view
from risingpy.optimizer.stream.sinks import WantedSink
from risingpy.plan.catalog import Catalog, Sink, is_of_session
from risingpy.plan.catalog.acl import Privilege
from risingpy.plan.logical import Filter, LogicalPlan, Project, Scan
from risingpy.types import SqlType

_FOR_TABLES = ("connector", "type", "primary_key", "force_append_only", "ignore_delete", "snapshot")
_FIXED = ("connector", "type", "primary_key", "force_append_only", "ignore_delete", "snapshot")  # the job was made so


def bind(
    session: StatementContext, parsed: ParsedStatement, statement: CreateSink, parameter_types: Sequence[SqlType]
) -> Command:
    """Reaches the other side, and returns when the sink has all rows that its inputs had: it delivers them then."""

    def run(parameters: Parameters) -> Result:
        try:
            sink = new_sink(session, parsed, statement)
            if not sink.snapshot:  # what was acknowledged before is not a later change
                session.database.reads.flush(session.cancelled)
            created = session.ddl.create_sink(
                sink,
                if_not_exists=statement.if_not_exists,
                creation=creation_of(session),
                cancelled=session.cancelled,
            )
        except SqlError as error:
            error.position = error.position or statement.name.position
            raise
        if not created:
            skipped(session, statement.name)
        return Result(CommandTag("CREATE SINK"))

    return Command(run)


def new_sink(session: StatementContext, parsed: ParsedStatement, statement: CreateSink) -> NewSink:
    """The sink that the statement describes, on the newest catalog. Its options are checked."""
    statement, given = opened_statement(session, statement)
    with given.masked_errors(statement.name.position):
        return _new_sink(session, parsed, statement, given)


def _new_sink(
    session: StatementContext, parsed: ParsedStatement, statement: CreateSink, given: GivenOptions
) -> NewSink:
    check_names(statement.options)
    if statement.into is not None:
        _check_for_table(statement)
    elif "connector" not in dict(statement.options):
        raise InvalidParameterValue("a sink needs the option connector", hint="WITH (connector = 'kafka', …)")
    check_sink(session, dict(statement.options), statement.message_format, statement.name.position)
    options = engine_options(dict(statement.options), statement.message_format)
    catalog = session.database.reads.catalog
    bound = _bound(session, statement, catalog)
    check_reads(session, bound.query)
    if reads_temporaries(catalog, bound.query):
        raise FeatureNotSupported("sinks must not use temporary tables or views")
    plan, names, into = bound.query.plan, bound.column_names, None
    if statement.into is not None:
        path, values = session.search_path(), session.session_values()
        rows = bind_rows_for_table(plan, statement.into, statement.into_columns, catalog, path, session=values)
        plan, into = rows.plan, rows.table
        if is_of_session(into):
            raise FeatureNotSupported("sinks must not use temporary tables or views", position=statement.into.position)
        check_follows(session, into, _written_by(options.type))
        names = tuple(field.name for field in plan.schema)
    plan = optimize_view(plan, catalog, emit_on_window_close=False, check=session.check)
    if not options.snapshot:
        _check_row_by_row(plan, statement)
    needs_key = dict(statement.options).get("connector") not in TARGETS_WITHOUT_KEYS
    return NewSink(
        schema_name=new_schema(session, statement.name),
        name=statement.name.name,
        plan=plan,
        column_names=names,
        definition=shown_text(parsed),
        depends_on=tuple(catalog.relations[relation_id] for relation_id in bound.query.dependencies),
        functions=bound.query.functions,
        stored=given.stored(statement.options, statement.message_format),
        wanted=WantedSink(options.type, options.primary_key, options.force_append_only, needs_key),
        identity=f"{statement.name.name}-{uuid.uuid4().hex[:12]}",
        snapshot=options.snapshot,
        into=into,
    )


def _written_by(kind: SinkType | None) -> Privilege:
    """What a sink does with the table into which it goes."""
    only = Privilege.INSERT
    return only if kind is SinkType.APPEND_ONLY else only | Privilege.UPDATE | Privilege.DELETE


def _check_row_by_row(plan: LogicalPlan, statement: CreateSink) -> None:
    """Raises InvalidParameterValue if later changes alone do not say what later rows of the query are."""
    while isinstance(plan, Project | Filter):
        plan = plan.input
    if not isinstance(plan, Scan):
        hint = "It takes the changes of one relation, row by row: no join, aggregate, window or limit."
        message = "snapshot = 'false' is not for a query that must know earlier rows"
        raise InvalidParameterValue(message, position=statement.name.position, hint=hint)


def _check_for_table(statement: CreateSink) -> None:
    """Raises InvalidParameterValue for what only a sink to another system can have."""
    assert statement.into is not None
    for name, value in statement.options:
        if name not in _FOR_TABLES or (name == "connector" and value != "table"):
            raise InvalidParameterValue(
                f'a sink into a table has no option "{name}"',
                hint=f"Its options are {', '.join(_FOR_TABLES[1:])}.",
                position=statement.into.position,
            )
    if statement.message_format is not None:
        raise InvalidParameterValue("a sink into a table has no FORMAT", position=statement.into.position)


def bind_alter(
    session: StatementContext, parsed: ParsedStatement, statement: AlterSink, parameter_types: Sequence[SqlType]
) -> Command:
    """The values are checked when it runs, with the sink's other options."""
    names = [*(name for name, _ in statement.options), *(each.option for each in statement.references)]
    check_names([(name, "") for name in names])
    for name in names:
        if name in _FIXED:
            raise InvalidParameterValue(
                f'option "{name}" of a sink cannot be changed',
                hint="Drop the sink and create it again.",
                position=statement.position,
            )

    def run(parameters: Parameters) -> Result:
        relation = altered_relation(session, statement.name, if_exists=statement.if_exists)
        if relation is not None:
            sink = _as_sink(relation, statement.name)
            if sink.into is not None:
                raise InvalidParameterValue(
                    f'sink "{sink.name}" goes into a table: it has no options that could change',
                    position=statement.position,
                )
            check_sink(session, dict(statement.options) | dict(sink.options), sink.message_format, statement.position)
            sink_id, vault = sink.relation_id, session.database.vault
            changes = changed_options(session, statement.options, statement.references)
            session.ddl.change(
                lambda state: with_sink_options(state, sink_id, changes, with_option_text, vault), session.cancelled
            )
        return Result(CommandTag("ALTER SINK"))

    return Command(run)


def bind_wait(
    session: StatementContext, parsed: ParsedStatement, statement: WaitSink, parameter_types: Sequence[SqlType]
) -> Command:
    """Returns when the other side has what the session's own writes, and all that is committed now, have changed.

    Running raises InsufficientPrivilege without SELECT on the sink: its failures may quote rows.
    """

    def run(parameters: Parameters) -> Result:
        sink = _as_sink(named_relation(session, statement.name), statement.name)
        check_allowed(session, sink, Privilege.SELECT)
        database = session.database
        epoch = database.reads.flush(session.cancelled)
        if sink.into is not None:  # the epoch has its rows in the table
            return Result(CommandTag("WAIT"))
        failure = next((status.failure for each, status in database.sinks.status() if each == sink), None)
        if failure is not None:
            session.notice(f'sink "{sink.name}" cannot deliver: {failure}')
        database.sinks.wait(sink, epoch, session.cancelled)
        return Result(CommandTag("WAIT"))

    return Command(run)


def _bound(session: StatementContext, statement: CreateSink, catalog: Catalog) -> BoundView:
    """The sink's query: `FROM t` means all columns of t."""
    query = statement.query
    if query is None:
        assert statement.relation is not None
        query = parse_query(f"SELECT * FROM {_quoted(statement.relation)}")
    view = CreateMaterializedView(statement.name, (), query)
    try:
        path, values = session.search_path(), session.session_values()
        return bind_view(view, catalog, path, session=values, are_called=statement.into is None)
    except SqlError as error:
        if statement.relation is not None:
            error.position = statement.relation.position
        raise


def _quoted(name: ObjectName) -> str:
    return ".".join(quoted(part) for part in (name.database, name.schema, name.name) if part is not None)


def _as_sink(relation: object, name: ObjectName) -> Sink:
    if not isinstance(relation, Sink):
        raise WrongObjectType(f'"{name.name}" is not a sink', position=name.position)
    return relation
