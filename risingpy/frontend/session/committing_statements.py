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
    ast.WaitSink,
)
