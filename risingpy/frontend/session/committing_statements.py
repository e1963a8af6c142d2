"""Statements that first commit what stands before them in the same text: they are about committed rows."""

from __future__ import annotations

from risingpy.frontend.parser import ast

ABOUT_COMMITTED_ROWS = (
    ast.AddPrimaryKey,
    ast.AlterDatabase,
    ast.AlterSettings,
    ast.AlterTable,
    ast.AlterRelation,
    ast.AlterDefaultPrivileges,
    ast.AlterObjectOwner,
    ast.AlterOwner,
    ast.AlterRole,
    ast.AlterSequence,
    ast.AlterSink,
    ast.AlterSource,
    ast.AlterSubscription,
    ast.Backup,
    ast.Flush,
    ast.CommentOn,
    ast.CreateIndex,
    ast.CreateRole,
    ast.CreateTable,
    ast.CreateTableAs,
    ast.CreateSequence,
    ast.CreateSink,
    ast.CreateSource,
    ast.CreateSubscription,
    ast.CreateView,
    ast.CreateMaterializedView,
    ast.CreateSchema,
    ast.Drop,
    ast.DropOwned,
    ast.DropRole,
    ast.DropSchema,
    ast.GrantPrivileges,
    ast.GrantRole,
    ast.ReassignOwned,
    ast.RenameSchema,
    ast.RevokeRole,
    ast.AlterBackfill,
    ast.WaitJobs,
    ast.WaitSink,
)


_MAY_BE_TEMPORARY = (ast.CreateTable, ast.CreateTableAs, ast.CreateSequence, ast.CreateView)


def is_about_committed_rows(statement: ast.Statement) -> bool:
    """Whether the statement commits those before it. What is temporary belongs to the transaction that makes it."""
    if isinstance(statement, _MAY_BE_TEMPORARY) and statement.temporary:
        return False
    return isinstance(statement, ABOUT_COMMITTED_ROWS)
