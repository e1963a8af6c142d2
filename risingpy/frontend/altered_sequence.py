"""ALTER SEQUENCE, and what ALTER COLUMN says of an identity column's sequence: how a sequence goes on."""

from __future__ import annotations

from dataclasses import replace

from risingpy.errors import SqlError, SyntaxError_, UndefinedColumn, UndefinedTable, WrongObjectType
from risingpy.frontend.binder.ddl.counting import altered_counting, check_position, restarted_at
from risingpy.frontend.parser.ast import ObjectName, SequenceOptions
from risingpy.frontend.statement_context import StatementContext
from risingpy.meta.schema.objects.sequences import with_altered_sequence
from risingpy.meta.writing.sequence_counters import SequencePosition
from risingpy.plan.catalog import NumberSequence, OwningColumn, Table


def alter_sequence(session: StatementContext, sequence: NumberSequence, options: SequenceOptions) -> None:
    """Changes what the sequence counts, to whom it belongs, and where it stands."""
    counting, counters = altered_counting(sequence.counting, options), session.database.writes.sequences
    altered = replace(sequence, counting=counting)
    if "OWNED BY" in dict(options.given):
        if sequence.owned_by is not None and sequence.owned_by.is_identity:
            table = session.database.reads.catalog.relations[sequence.owned_by.table_id]
            message, detail = "cannot change ownership of identity sequence", f'Sequence "{sequence.name}" is linked to'
            raise SqlError(message, sqlstate="0A000", detail=f'{detail} table "{table.name}".')
        altered = replace(altered, owned_by=owning_column(session, options, sequence.schema_name))
    number, now = restarted_at(counting, options), counters.position(sequence)
    position = now if number is None else SequencePosition(number, called=False)
    check_position(counting, position.last, options)
    _put(session, altered, position, restarts=number is not None)


def restart_sequence(session: StatementContext, sequence: NumberSequence) -> None:
    """Has a sequence begin again, as TRUNCATE … RESTART IDENTITY does."""
    _put(session, sequence, SequencePosition(sequence.counting.start, called=False), restarts=True)


def _put(session: StatementContext, altered: NumberSequence, position: SequencePosition, *, restarts: bool) -> None:
    """Makes the sequence what it is to be. In a transaction a restarted one counts elsewhere; others go on here."""
    oid, in_block = altered.relation_id, restarts and session.scope.schema.is_there
    if in_block or altered != session.database.reads.catalog.relations.get(oid):
        session.ddl.change(
            lambda state: with_altered_sequence(state, oid, altered, restarts=in_block), session.cancelled
        )
    now = session.database.reads.catalog.relations.get(oid) if in_block else altered
    assert isinstance(now, NumberSequence)
    session.database.writes.sequences.put(now, position)


def owning_column(session: StatementContext, options: SequenceOptions, schema: str) -> OwningColumn | None:
    """The column that OWNED BY names. Raises what PostgreSQL does for a table of others, or in another schema."""
    names, catalog = dict(options.given).get("OWNED BY"), session.database.reads.catalog
    if not isinstance(names, tuple):
        return None
    if not 2 <= len(names) <= 3:
        hint = "Specify OWNED BY table.column or OWNED BY NONE."
        raise SyntaxError_("invalid OWNED BY option", hint=hint, position=options.position)
    *of_schema, table_name, column_name = names
    name = ObjectName(table_name.name, of_schema[0].name if of_schema else None, names[0].position)
    table = catalog.find(name.name, name.schema, session.search_path())
    if table is None or table.is_being_created:
        raise UndefinedTable(f'relation "{name}" does not exist', position=name.position)
    if not isinstance(table, Table):
        message = f'sequence cannot be owned by relation "{table.name}"'
        detail = f"This operation is not supported for {table.noun}s."
        raise WrongObjectType(message, detail=detail, position=name.position)
    if table.schema_name != schema:
        message = "sequence must be in same schema as table it is linked to"
        raise SqlError(message, sqlstate="55000", position=name.position)
    if table.owner != session.identity.current_id and not session.identity.is_superuser:
        message = "sequence must have same owner as table it is linked to"
        raise SqlError(message, sqlstate="55000", position=name.position)
    column = next((each for each in table.columns if each.name == column_name.name and not each.hidden), None)
    if column is None:
        message = f'column "{column_name.name}" of relation "{table.name}" does not exist'
        raise UndefinedColumn(message, position=column_name.position)
    return OwningColumn(table.relation_id, column.column_id)
