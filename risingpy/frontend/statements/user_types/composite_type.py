"""CREATE TYPE … AS (…), and ALTER TYPE … ADD, DROP, ALTER and RENAME ATTRIBUTE."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from risingpy.errors import SerializationFailure
from risingpy.frontend.binder import altered_attributes, bind_composite
from risingpy.frontend.binder.ddl.fields_by_name import with_fields_of
from risingpy.frontend.command import Command, Parameters
from risingpy.frontend.parser.ast import AlterAttributes, CreateCompositeType, ParsedStatement
from risingpy.frontend.parser.user_types.trees import RenameAttribute, SetAttributeType
from risingpy.frontend.results import CommandTag, Result
from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.statements.alter_table import refuse_spilled
from risingpy.frontend.statements.placing import new_schema
from risingpy.frontend.statements.rights.checks import check_owns_all, check_uses_types
from risingpy.frontend.statements.user_types.alter_type import at_name, target_of
from risingpy.meta.schema.objects.composites import (
    Casts,
    add_composite,
    required_composite,
    tables_of,
    with_attributes,
)
from risingpy.meta.state import MetaState
from risingpy.meta.writing.rows_of_altered import in_new_form
from risingpy.meta.writing.table_locks import LockMode
from risingpy.plan.catalog import Table
from risingpy.plan.expressions import Cast, InputRef
from risingpy.types import SqlType


def bind_create(
    session: StatementContext,
    parsed: ParsedStatement,
    statement: CreateCompositeType,
    parameter_types: Sequence[SqlType],
) -> Command:
    """The attributes are bound, and the name is checked, when the type is made."""

    def run(parameters: Parameters) -> Result:
        schema = new_schema(session, statement.name)
        new = bind_composite(statement, schema, session.database.reads.catalog, session.search_path())
        check_uses_types(session, new.items)
        session.ddl.change(lambda state: add_composite(state, new), session.cancelled)
        return Result(CommandTag("CREATE TYPE"))

    return Command(run)


def bind_alter(
    session: StatementContext, parsed: ParsedStatement, statement: AlterAttributes, parameter_types: Sequence[SqlType]
) -> Command:
    """All actions or none, in one step."""

    def run(parameters: Parameters) -> Result:
        target, notices = target_of(session, statement.name), list[str]()
        at_name(statement.name, lambda: check_owns_all(session, lambda state: [required_composite(state, target)]))
        casts = _casts(statement)
        found = required_composite(session.database.reads.seen_state, target)
        altered_tables = tables_of(session.database.reads.seen_state, found) if casts is not None else set[int]()

        def change(state: MetaState) -> MetaState:
            found = required_composite(state, target)
            altered, notices[:] = altered_attributes(found, statement, state.catalog, session.search_path())
            if casts is not None and tables_of(state, found) != altered_tables:
                message = f'what has columns of type "{found.name}" changed meanwhile'
                raise SerializationFailure(message, hint="Run the statement again.")
            return with_attributes(state, found, altered, casts)

        with _tables_alone(session, altered_tables):
            at_name(statement.name, lambda: session.ddl.change(change, session.cancelled))
        for notice in notices:
            session.notice(notice)
        return Result(CommandTag("ALTER TYPE"))

    return Command(run)


def _casts(statement: AlterAttributes) -> Casts | None:
    """How rows in tables get the new attributes; None of a new type of an attribute, which no table may use."""
    if any(isinstance(each, SetAttributeType) for each in statement.actions):
        return None
    if any(isinstance(each, RenameAttribute) for each in statement.actions):  # which stands alone: by position
        return lambda old, new: Cast(InputRef(0, old), new)
    return lambda old, new: with_fields_of(InputRef(0, old), new)


@contextmanager
def _tables_alone(session: StatementContext, table_ids: set[int]) -> Iterator[None]:
    """Holds tables alone while they change, as ALTER TABLE does; the transaction's own rows get their new form."""
    database, process_id = session.database, session.startup.process_id
    before = [database.reads.catalog.relations[each] for each in table_ids]
    for table in before:
        assert isinstance(table, Table)
        refuse_spilled(session, table)
    with database.writes.locks.held(table_ids, LockMode.ALONE, session.cancelled, process_id=process_id):
        if table_ids:
            database.reads.wait_for_lsn(database.writes.last_lsn, session.cancelled)
        yield
        for table in before:
            now = session.database.reads.catalog.relations.get(table.relation_id)
            assert isinstance(table, Table)
            if isinstance(now, Table) and now.version != table.version:
                session.transaction.renew_rows(now.relation_id, partial(in_new_form, before=table, after=now))
