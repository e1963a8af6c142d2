"""Which statements `log_statement` logs: those that change objects (ddl), also those that change rows (mod), or all."""

from __future__ import annotations

from risingpy.frontend.parser import ast
from risingpy.frontend.parser.ast import ParsedStatement
from risingpy.frontend.results import Statement

_CHANGES_OBJECTS = (
    *(ast.AlterDatabase, ast.AlterSettings, ast.CreateDatabase, ast.DropDatabase, ast.RenameSchema),
    *(ast.AddPrimaryKey, ast.AlterObjectOwner, ast.AlterDefaultPrivileges, ast.CreateTableAs, ast.GrantPrivileges),
    *(ast.AlterOwner, ast.AlterRelation, ast.AlterRole, ast.AlterSink, ast.AlterSource, ast.AlterSourceColumns),
    *(ast.CommentOn, ast.CreateType, ast.AlterTypeAddValue, ast.AlterTypeRenameValue, ast.AlterTypePlace, ast.DropType),
    *(ast.AlterFunction, ast.CreateDomain, ast.AlterDomain, ast.CreateCompositeType, ast.AlterAttributes),
    *(ast.AlterSubscription, ast.AlterSequence, ast.AlterSystem, ast.AlterTable, ast.CreateFunction, ast.CreateIndex),
    *(ast.CreateMaterializedView, ast.CreateRole, ast.CreateSchema, ast.CreateSink, ast.CreateSource),
    *(ast.CreateSubscription, ast.CreateTable, ast.CreateView, ast.Drop, ast.DropFunction, ast.DropOwned),
    *(ast.DropRole, ast.DropSchema, ast.GrantRole, ast.ReassignOwned, ast.RevokeRole),
)
_CHANGES_ROWS = ast.Insert, ast.Update, ast.Delete, ast.Merge, ast.Truncate


def is_logged(statement: Statement, wanted: str) -> bool:
    """Whether a statement is logged when it begins. `wanted` is the setting."""
    if wanted == "none":
        return False
    if wanted == "all" or not isinstance(statement, ParsedStatement):
        return wanted == "all"
    tree = statement.statement
    if isinstance(tree, ast.Explain | ast.Prepare):  # what they are about
        return wanted == "mod" and isinstance(tree, ast.Explain) and isinstance(tree.statement, _CHANGES_ROWS)
    if isinstance(tree, _CHANGES_OBJECTS):
        return True
    is_copy_in = isinstance(tree, ast.Copy) and tree.direction is ast.CopyDirection.FROM_STDIN
    return wanted == "mod" and (isinstance(tree, _CHANGES_ROWS) or is_copy_in)
