"""Which statements change the schema: in a transaction block they are a part of it.

Without one, they first commit what stands before them in the same text: they are about committed rows.
"""

from __future__ import annotations

from risingpy.frontend.parser import ast

ABOUT_COMMITTED_ROWS = (
    ast.AlterTypeAddValue,
    ast.AlterAttributes,
    ast.AlterDomain,
    ast.AlterFunction,
    ast.CreateCompositeType,
    ast.CreateDomain,
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
    ast.CreateType,
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
    ast.DropType,
    ast.GrantPrivileges,
    ast.GrantRole,
    ast.AlterTypePlace,
    ast.ReassignOwned,
    ast.AlterTypeRenameValue,
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


_ABOUT_NO_SCHEMA = (ast.Backup, ast.Flush, ast.AlterBackfill, ast.WaitJobs, ast.WaitSink)
_OTHERS = (
    ast.AlterConnection,
    ast.AlterConnector,
    ast.AlterSecret,
    ast.AlterSourceColumns,
    ast.CreateConnection,
    ast.CreateFunction,
    ast.CreateSecret,
    ast.DropFunction,
    ast.DropHidden,
)


def changes_schema(statement: ast.Statement) -> bool:
    """Whether the statement changes the schema as a part of its transaction block."""
    return isinstance(statement, _CHANGES_SCHEMA) and not isinstance(statement, _ABOUT_NO_SCHEMA)


_CHANGES_SCHEMA = (*ABOUT_COMMITTED_ROWS, *_OTHERS)


OF_THE_SESSION = (
    ast.Begin,
    ast.Commit,
    ast.Deallocate,
    ast.Listen,
    ast.NoOperation,
    ast.Prepare,
    ast.ReleaseSavepoint,
    ast.Rollback,
    ast.RollbackTo,
    ast.Savepoint,
    ast.SetConstraints,
    ast.SetTransaction,
    ast.SetVariable,
    ast.ShowVariable,
    ast.Unlisten,
)
"""What reads no rows and writes none: the modes of its transaction may still change after it."""
