"""ALTER TABLE on columns: planned on the table as it is, swapped in at a barrier (seed 002).

The statement locks the table alone, like an UPDATE, and waits until epochs have all rows that were logged for it. So no
write is half in the old form and half in the new. A statement that was planned on the old form is planned again, or
fails with 40001.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from risingpy.connectors.secrets.opened_options import opened
from risingpy.errors import FeatureNotSupported, SqlError, UndefinedColumn, UndefinedTable, WrongObjectType
from risingpy.frontend.altered_sequence import alter_sequence
from risingpy.frontend.binder import BoundAlterTable, bind_alter_table
from risingpy.frontend.command import Command, Parameters
from risingpy.frontend.constraints.changes import key_changes, related_tables
from risingpy.frontend.deparse.table_expressions import printed_expression
from risingpy.frontend.parser.ast import ObjectName, ParsedStatement, SequenceOptions
from risingpy.frontend.parser.ast_alter import (
    AddColumn,
    AddConstraint,
    AddIdentity,
    AddPrimaryKey,
    AlterAction,
    AlterTable,
    DropColumn,
    DropConstraint,
    DropIdentity,
    RenameColumn,
    RenameConstraint,
    SetDefault,
    SetIdentity,
    SetNotNull,
    SetType,
    ValidateConstraint,
    WithoutEffect,
)
from risingpy.frontend.renamed_text import reread
from risingpy.frontend.results import CommandTag, Result
from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.statements.connectors.source_options import check_source_columns
from risingpy.frontend.statements.filled.added_columns import replace_filled
from risingpy.frontend.statements.filled.changed_key import replace_rekeyed
from risingpy.frontend.statements.objects.view_column import rename_column
from risingpy.frontend.statements.rights.checks import check_names_schema, check_owns, check_uses_types
from risingpy.frontend.statements.row_checks import check_rows
from risingpy.frontend.table_definition import table_definition
from risingpy.meta.schema.alter import TableReplacement, check_unchanged
from risingpy.meta.schema.objects.column_readers import refuse_read_by_views
from risingpy.meta.schema.tables import source_of_table
from risingpy.meta.writing.rows_of_altered import in_new_form
from risingpy.meta.writing.table_locks import LockMode
from risingpy.plan.catalog import NumberSequence, QueryRelation, Relation, Table, is_of_session
from risingpy.plan.expressions import Expr
from risingpy.plan.logical import Field, Project, Values
from risingpy.types import SqlType
from risingpy.types.far_moments import value_of


def bind(
    session: StatementContext, parsed: ParsedStatement, statement: AlterTable, parameter_types: Sequence[SqlType]
) -> Command:
    """All actions take effect at one barrier, or none. Finds the table when it runs."""

    def run(parameters: Parameters) -> Result:
        relation = altered_relation(session, statement.name, if_exists=statement.if_exists)
        if isinstance(relation, QueryRelation) and isinstance(statement.actions[0], RenameColumn):
            # As in PostgreSQL, ALTER TABLE renames columns of views, too; a RENAME stands alone there.
            rename_column(session, relation, statement.actions[0].column, statement.actions[0].name)
        elif relation is not None:
            _alter(session, _checked_table(relation, statement), statement.actions)
        return Result(CommandTag("ALTER TABLE"))

    return Command(run)


def altered_relation(
    session: StatementContext, name: ObjectName, *, if_exists: bool, in_creation: bool = False
) -> Relation | None:
    """The relation that ALTER names. If it is missing: None and a notice with IF EXISTS, else raises UndefinedTable.

    One that is being created counts as missing, unless asked for `in_creation`. Raises InsufficientPrivilege unless
    the session owns it.
    """
    check_names_schema(session, name.schema, name.position)
    relation = session.database.reads.catalog.find(name.name, name.schema, session.search_path())
    if relation is not None and is_of_session(relation) and relation.schema_name != session.temporaries.schema:
        raise FeatureNotSupported("cannot alter temporary tables of other sessions", position=name.position)
    if relation is not None and (in_creation or not relation.is_being_created):
        check_owns(session, relation)
        return relation
    if not if_exists:
        raise UndefinedTable(f'relation "{name}" does not exist', position=name.position)
    session.notice(f'relation "{name}" does not exist, skipping')
    return None


def _checked_table(relation: Relation, statement: AlterTable) -> Table:
    if isinstance(relation, Table):
        return relation
    raise WrongObjectType(
        f'ALTER action {_action_name(statement.actions[0])} cannot be performed on relation "{relation.name}"',
        detail=f"This operation is not supported for {relation.noun}s.",
        position=statement.name.position,
    )


def _alter(session: StatementContext, relation: Table, given: Sequence[AlterAction | WithoutEffect]) -> None:
    refuse_spilled(session, relation)
    actions = _with_effect(session, relation, given)
    if not actions:
        return
    catalog = session.database.reads.catalog
    bound = bind_alter_table(
        relation,
        actions,
        lambda expr: _value(session, expr),
        catalog=catalog,
        search_path=session.search_path(),
        session=session.session_values(),
        printed=lambda text, wanted: printed_expression(text, relation, catalog, (), wanted, pretty=True),
    )
    known = {(column.column_id, column.domain or column.type) for column in relation.columns}
    types = [(column.column_id, column.domain or column.type) for column in bound.relation.columns]
    made = (each for column_id, each in types if (column_id, each) not in known)
    check_uses_types(session, made)
    for notice in bound.notices:
        session.notice(notice)
    _refuse_same_types(session, relation, bound, actions)
    if bound.filled or bound.key is not None:
        replace_filled(session, relation, bound, replace_altered, _alter)
    elif bound.changes is not None and bound.changes.rekeys:
        replace_rekeyed(session, relation, bound, bound.changes)
    else:
        replace_altered(session, relation, bound)
    for action in given:
        if isinstance(action, SetIdentity) and action.options:
            _alter_sequence(session, relation, action)


def _refuse_same_types(
    session: StatementContext, relation: Table, bound: BoundAlterTable, actions: Sequence[AlterAction]
) -> None:
    """Raises FeatureNotSupported for ALTER COLUMN … TYPE with the type that the column has, if a view reads it."""
    named = {action.column.name for action in actions if isinstance(action, SetType)}
    left = {column.column_id for column in bound.relation.columns}
    same = {column.column_id for column in relation.columns if column.name in named} & left
    refuse_read_by_views(session.database.reads.state, relation, same, same=True)


def _with_effect(
    session: StatementContext, relation: Table, actions: Sequence[AlterAction | WithoutEffect]
) -> list[AlterAction]:
    """The actions that change something; a notice tells of each of the others, whose column must be there."""
    left = list[AlterAction]()
    for action in actions:
        if not isinstance(action, WithoutEffect):
            left.append(action)
            continue
        column = action.column
        if column is not None and not any(each.name == column.name for each in relation.columns if not each.hidden):
            message = f'column "{column.name}" of relation "{relation.name}" does not exist'
            raise UndefinedColumn(message, position=column.position)
        session.notice(f"{action.what} has no effect here")
    return left


def refuse_spilled(session: StatementContext, relation: Table) -> None:
    """Raises 55006 if the transaction has copied so much into the table that the rows are in a file."""
    if session.transaction.has_spilled(relation.relation_id):
        raise SqlError(
            f'cannot ALTER TABLE "{relation.name}" because this transaction has copied a large amount of data into it',
            sqlstate="55006",
            hint="COMMIT first.",
        )


def _alter_sequence(session: StatementContext, relation: Table, action: SetIdentity) -> None:
    """What ALTER COLUMN … SET says of the sequence of an identity column."""
    catalog = session.database.reads.catalog
    now = catalog.relations[relation.relation_id]  # the column may have come with the same statement
    assert isinstance(now, Table)
    column = next(each for each in now.columns if each.name == action.column.name)
    sequence = None if column.identity is None else catalog.relations.get(column.identity.sequence)
    assert isinstance(sequence, NumberSequence)
    given = tuple(option for options in action.options for option in options.given)
    alter_sequence(session, sequence, SequenceOptions(given, action.options[0].position))


def replace_altered(session: StatementContext, relation: Table, bound: BoundAlterTable) -> None:
    """Puts the table's new form in the place of `relation`, once its rows have passed the checks."""
    changes = bound.changes
    keeps_indexes = changes is None or not (changes.added or changes.dropped or changes.renamed)
    if bound.relation == relation and keeps_indexes:
        return
    kept = {"constraints": relation.constraints, "key_name": relation.key_name}
    same = replace(bound.relation, **kept) == relation  # type: ignore[arg-type]
    database, altered = session.database, _with_source(session, bound.relation)
    process_id, locks = session.startup.process_id, database.writes.locks
    related = locks.held(
        related_tables(bound.relation, changes), LockMode.ALONE, session.cancelled, process_id=process_id
    )
    with related, database.writes.table_lock(relation.relation_id, session.cancelled, process_id=process_id):
        database.reads.wait_for_lsn(database.writes.last_lsn, session.cancelled)
        check_unchanged(database.reads.state, relation)
        for check in bound.checks:
            check_rows(session, check)
        altered = replace(altered, definition=table_definition(altered, (), database.reads.catalog.relations))
        replacement = TableReplacement(
            altered,
            bound.cascade,
            bound.generated,
            keys=key_changes(altered, changes),
            changes_form=not same,
            reader=reread,
        )
        for notice in session.ddl.replace_table(replacement, session.cancelled):
            session.notice(notice)
        now = database.reads.catalog.relations.get(relation.relation_id)
        if isinstance(now, Table) and now.version != relation.version:
            session.transaction.renew_rows(now.relation_id, lambda each: in_new_form(each, relation, now))


def _with_source(session: StatementContext, table: Table) -> Table:
    """The table, its source reading the same columns. Raises what `check_source_columns` does."""
    if table.source is None:
        return table
    source = source_of_table(table.source, table.columns, table.primary_key)
    options = opened(session.database.vault, session.database.reads.catalog.resolved(source))
    check_source_columns(source, options)
    return replace(table, source=source)


def _value(session: StatementContext, expr: Expr) -> object:
    """The current value of a DEFAULT, as Arrow takes it."""
    plan = Project(Values(((),), ()), (expr,), (Field("default", expr.type),))
    return value_of(session.run_to_table(session.planned(plan), ()).column(0), 0)


def _action_name(action: AlterAction | WithoutEffect) -> str:
    match action:
        case AddColumn():
            return "ADD COLUMN"
        case DropColumn():
            return "DROP COLUMN"
        case RenameColumn():
            return "RENAME COLUMN"
        case SetDefault():
            return "ALTER COLUMN ... SET DEFAULT" if action.value is not None else "ALTER COLUMN ... DROP DEFAULT"
        case SetNotNull():
            return "ALTER COLUMN ... SET NOT NULL" if action.not_null else "ALTER COLUMN ... DROP NOT NULL"
        case AddIdentity():
            return "ALTER COLUMN ... ADD IDENTITY"
        case SetIdentity():
            return "ALTER COLUMN ... SET"
        case DropIdentity():
            return "ALTER COLUMN ... DROP IDENTITY"
        case AddConstraint() | AddPrimaryKey():
            return "ADD CONSTRAINT"
        case DropConstraint():
            return "DROP CONSTRAINT"
        case RenameConstraint():
            return "RENAME CONSTRAINT"
        case ValidateConstraint():
            return "VALIDATE CONSTRAINT"
        case WithoutEffect():
            return action.what
    return "ALTER COLUMN ... SET DATA TYPE"
