"""Maps each statement's class to the module that binds it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from risingpy.errors import SqlError
from risingpy.frontend.binder.database_names import check_databases
from risingpy.frontend.command import Command
from risingpy.frontend.parser import ast
from risingpy.frontend.parser.reading_statements import defines, name_of, only_reads
from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.statements import (
    alter_relation,
    alter_system,
    alter_table,
    backup,
    call,
    copy,
    create_function,
    create_index,
    create_table,
    create_view,
    cursor,
    describe,
    discard,
    drop,
    explain,
    explain_analyze,
    flush,
    insert,
    maintenance,
    prepare,
    set_variable,
    show,
    truncate,
    update_delete,
)
from risingpy.frontend.statements.connectors import (
    alter_connector,
    alter_source,
    connection,
    create_source,
    secret,
    sink,
    source_columns,
)
from risingpy.frontend.statements.databases import database, schema, settings_of
from risingpy.frontend.statements.filled import add_primary_key, create_table_as
from risingpy.frontend.statements.jobs import commands as job_commands
from risingpy.frontend.statements.objects import alter_function, comment, sequence, set_constraints
from risingpy.frontend.statements.rights import owners, privileges, roles
from risingpy.frontend.statements.subscriptions import cursor as subscription_cursor
from risingpy.frontend.statements.subscriptions import subscribe, subscription
from risingpy.frontend.statements.transactions import channels, savepoint, transaction_control
from risingpy.frontend.statements.user_types import (
    alter_domain,
    alter_type,
    composite_type,
    create_domain,
    create_type,
    drop_type,
)
from risingpy.frontend.statements.writes import locked_select, merge, with_writes
from risingpy.frontend.statements.writes.returned_subqueries import RETURNED, has_returned_subquery, read_by_select
from risingpy.types import SqlType

# Each function takes a statement of its own class; the type of a dictionary cannot express that.
Binder = Callable[[StatementContext, ast.ParsedStatement, Any, Sequence[SqlType]], Command]
BINDERS: dict[type, Binder] = {
    ast.AlterDatabase: database.bind,
    ast.AlterSettings: settings_of.bind,
    ast.AlterConnection: connection.bind_alter,
    ast.AlterConnector: alter_connector.bind,
    ast.AlterRelation: alter_relation.bind,
    ast.AlterDefaultPrivileges: privileges.bind_default,
    ast.AlterFunction: alter_function.bind,
    ast.AlterObjectOwner: owners.bind_object,
    ast.AlterOwner: owners.bind,
    ast.AlterRole: roles.bind,
    ast.AlterSecret: secret.bind_alter,
    ast.AlterSequence: sequence.bind_alter,
    ast.AlterSink: sink.bind_alter,
    ast.AlterSource: alter_source.bind,
    ast.AlterSourceColumns: source_columns.bind,
    ast.AlterSubscription: subscription.bind_alter,
    ast.AlterSystem: alter_system.bind,
    ast.AlterAttributes: composite_type.bind_alter,
    ast.AlterDomain: alter_domain.bind,
    ast.AlterTypeAddValue: alter_type.bind_add_value,
    ast.AddPrimaryKey: add_primary_key.bind,
    ast.AlterTable: alter_table.bind,
    ast.Backup: backup.bind,
    ast.Begin: transaction_control.bind_begin,
    ast.CallProcedure: call.bind,
    ast.CloseCursor: cursor.bind_close,
    ast.CommentOn: comment.bind,
    ast.Commit: transaction_control.bind_commit,
    ast.Copy: copy.bind,
    ast.CreateConnection: connection.bind,
    ast.CreateCompositeType: composite_type.bind_create,
    ast.CreateDomain: create_domain.bind,
    ast.CreateType: create_type.bind,
    ast.CreateFunction: create_function.bind,
    ast.CreateIndex: create_index.bind,
    ast.CreateMaterializedView: create_view.bind_materialized,
    ast.CreateRole: roles.bind,
    ast.CreateDatabase: database.bind,
    ast.CreateSchema: schema.bind,
    ast.CreateSecret: secret.bind,
    ast.CreateSequence: sequence.bind,
    ast.CreateSink: sink.bind,
    ast.CreateSource: create_source.bind,
    ast.CreateSubscription: subscription.bind,
    ast.CreateTable: create_table.bind,
    ast.CreateTableAs: create_table_as.bind,
    ast.CreateView: create_view.bind,
    ast.Deallocate: prepare.bind_deallocate,
    ast.DeclareCursor: cursor.bind_declare,
    ast.DeclareSubscriptionCursor: subscription_cursor.bind_declare,
    ast.Delete: update_delete.bind_delete,
    ast.Describe: describe.bind,
    ast.Discard: discard.bind,
    ast.Drop: drop.bind,
    ast.DropFunction: create_function.bind_drop,
    ast.DropHidden: secret.bind_drop,
    ast.DropOwned: roles.bind,
    ast.DropRole: roles.bind,
    ast.DropDatabase: database.bind,
    ast.DropType: drop_type.bind,
    ast.DropSchema: schema.bind,
    ast.Execute: prepare.bind_execute,
    ast.Explain: explain.bind,
    ast.ExplainAnalyze: explain_analyze.bind,
    ast.Fetch: cursor.bind_fetch,
    ast.Flush: flush.bind,
    ast.GrantPrivileges: privileges.bind,
    ast.GrantRole: roles.bind,
    ast.Insert: insert.bind,
    ast.Listen: channels.bind_listen,
    ast.LockTable: transaction_control.bind_lock,
    ast.Maintenance: maintenance.bind,
    ast.Merge: merge.bind,
    ast.AlterTypePlace: alter_type.bind_move,
    ast.NoOperation: discard.bind_no_operation,
    ast.Notify: channels.bind_notify,
    ast.Prepare: prepare.bind,
    ast.Recover: maintenance.bind_recover,
    ast.AlterTypeRenameValue: alter_type.bind_rename_value,
    ast.RenameSchema: schema.bind,
    ast.ReassignOwned: roles.bind,
    ast.ReleaseSavepoint: savepoint.bind_release,
    ast.RevokeRole: roles.bind,
    ast.Rollback: transaction_control.bind_rollback,
    ast.RollbackTo: savepoint.bind_rollback_to,
    ast.Savepoint: savepoint.bind,
    ast.Select: locked_select.bind,
    ast.SetConstraints: set_constraints.bind,
    ast.SetTransaction: transaction_control.bind_set,
    ast.SetVariable: set_variable.bind,
    ast.Show: show.bind,
    ast.ShowVariable: set_variable.bind_show,
    ast.Subscribe: subscribe.bind,
    ast.Truncate: truncate.bind,
    ast.Unlisten: channels.bind_unlisten,
    ast.UseDatabase: database.bind,
    ast.Update: update_delete.bind_update,
    ast.AlterBackfill: job_commands.bind_alter_limit,
    ast.CancelJobs: job_commands.bind_cancel,
    ast.KillProcess: job_commands.bind_kill,
    ast.WaitJobs: job_commands.bind_wait,
    ast.WaitSink: sink.bind_wait,
}


def bind_statement(
    session: StatementContext, parsed: ast.ParsedStatement, parameter_types: Sequence[SqlType]
) -> Command:
    """Binds a statement on the session's catalog snapshot."""
    statement: Any = parsed.statement
    followed = session.database.followed
    if followed is not None and not only_reads(statement):
        raise followed.refusal(name_of(parsed))
    if session.transaction.read_only and defines(statement):
        raise SqlError(f"cannot execute {name_of(parsed)} in a read-only transaction", sqlstate="25006")
    check_databases(statement, parsed.text, session.database_names(), session.readable_databases)

    def bind_part(part: with_writes.Whole, types: Sequence[SqlType]) -> Command:
        return BINDERS[type(part)](session, parsed, part, types)

    if has_returned_subquery(statement):
        return with_writes.bind(session, read_by_select(statement), parameter_types, bind_part, RETURNED)
    if with_writes.has_parts(session, statement):
        return with_writes.bind(session, statement, parameter_types, bind_part)
    return BINDERS[type(statement)](session, parsed, statement, parameter_types)
