"""Which module prepares which statement."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from risingpy.errors import FeatureNotSupported
from risingpy.frontend.binder.database_names import check_databases
from risingpy.frontend.catalog.recognize import find_system_name
from risingpy.frontend.parser import ast
from risingpy.frontend.prepared import PreparedStatement
from risingpy.frontend.statements import (
    alter_relation,
    alter_system,
    alter_table,
    backup,
    copy,
    create_function,
    create_index,
    create_schema,
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
    prepare,
    savepoint,
    select,
    set_variable,
    show,
    transaction_control,
    update_delete,
)
from risingpy.types import SqlType

if TYPE_CHECKING:
    from risingpy.frontend.session import ClientSession

_PREPARE: dict[type, Callable[..., PreparedStatement]] = {
    ast.AlterRelation: alter_relation.prepare,
    ast.AlterSystem: alter_system.prepare,
    ast.AlterTable: alter_table.prepare,
    ast.Backup: backup.prepare,
    ast.Begin: transaction_control.prepare_begin,
    ast.CloseCursor: cursor.prepare_close,
    ast.Commit: transaction_control.prepare_commit,
    ast.Copy: copy.prepare,
    ast.CreateFunction: create_function.prepare,
    ast.CreateIndex: create_index.prepare,
    ast.CreateMaterializedView: create_view.prepare_materialized,
    ast.CreateSchema: create_schema.prepare,
    ast.CreateSource: create_table.prepare_source,
    ast.CreateTable: create_table.prepare,
    ast.CreateView: create_view.prepare,
    ast.Deallocate: prepare.prepare_deallocate,
    ast.DeclareCursor: cursor.prepare_declare,
    ast.Delete: update_delete.prepare_delete,
    ast.Describe: describe.prepare,
    ast.Discard: discard.prepare,
    ast.Drop: drop.prepare,
    ast.DropFunction: create_function.prepare_drop,
    ast.DropSchema: create_schema.prepare_drop,
    ast.Execute: prepare.prepare_execute,
    ast.Explain: explain.prepare,
    ast.ExplainAnalyze: explain_analyze.prepare,
    ast.Fetch: cursor.prepare_fetch,
    ast.Flush: flush.prepare,
    ast.Insert: insert.prepare,
    ast.NoOperation: discard.prepare_no_operation,
    ast.Prepare: prepare.prepare,
    ast.ReleaseSavepoint: savepoint.prepare_release,
    ast.Rollback: transaction_control.prepare_rollback,
    ast.RollbackTo: savepoint.prepare_rollback_to,
    ast.Savepoint: savepoint.prepare,
    ast.Select: select.prepare,
    ast.SetVariable: set_variable.prepare,
    ast.Show: show.prepare,
    ast.ShowVariable: set_variable.prepare_show,
    ast.Update: update_delete.prepare_update,
}

_WITHOUT_SYSTEM_RELATIONS = (
    ast.AlterRelation,
    ast.AlterTable,
    ast.CreateIndex,
    ast.CreateMaterializedView,
    ast.CreateView,
    ast.Delete,
    ast.Explain,
    ast.Insert,
    ast.Update,
)


def prepare_statement(
    session: ClientSession, parsed: ast.ParsedStatement, parameter_types: Sequence[SqlType]
) -> PreparedStatement:
    """Binds a statement on the session's catalog snapshot."""
    statement: Any = parsed.statement
    check_databases(statement, parsed.text, session.database_names())
    if isinstance(statement, _WITHOUT_SYSTEM_RELATIONS):
        _refuse_system_relations(parsed)
    prepare_one = _PREPARE.get(type(statement))
    if prepare_one is None:
        raise FeatureNotSupported(f"{type(statement).__name__} is not supported")
    return prepare_one(session, parsed, statement, parameter_types)


def _refuse_system_relations(parsed: ast.ParsedStatement) -> None:
    """Only SELECT and COPY TO read system relations: they change without epochs."""
    found = find_system_name(parsed.text)
    if found is not None:
        name, start = found
        raise FeatureNotSupported(
            f'the system relation or function "{name}" can only be used in SELECT and COPY TO',
            position=parsed.offset + start + 1,
        )
