"""Which statements change nothing, for servers that only follow, and which a READ ONLY transaction refuses unseen."""

from __future__ import annotations

import re

from risingpy.frontend.parser import ast

_READING = (
    ast.Begin, ast.CloseCursor, ast.Commit, ast.Deallocate, ast.DeclareCursor, ast.DeclareSubscriptionCursor,
    ast.Describe, ast.Discard, ast.Execute, ast.Explain, ast.Fetch, ast.NoOperation, ast.Prepare, ast.ReleaseSavepoint,
    ast.Rollback, ast.RollbackTo, ast.Savepoint, ast.Select, ast.SetConstraints, ast.SetTransaction, ast.SetVariable,
    ast.Show, ast.ShowVariable, ast.Unlisten, ast.UseDatabase,
)  # fmt: skip
_DEFINING = ("Create", "Alter", "Drop", "Rename", "AddPrimaryKey", "CommentOn", "Grant", "Revoke", "Reassign")
_WORDS = re.compile(r"[A-Z][a-z]*")


def only_reads(statement: object) -> bool:
    """Whether the statement changes nothing, or, as EXECUTE, is looked at again when that is known."""
    match statement:
        case ast.Copy():
            return statement.direction is ast.CopyDirection.TO_STDOUT and statement.subscribe is None
        case ast.Explain():
            return only_reads(statement.statement) or not statement.analyze
        case _:
            return isinstance(statement, _READING)


def defines(statement: object) -> bool:
    """Whether it changes the schema or rights. Statements that write rows look for themselves, when they run."""
    return type(statement).__name__.startswith(_DEFINING)


def name_of(parsed: ast.ParsedStatement) -> str:
    """What errors call a statement: CREATE TABLE, for example, or the first word of its text."""
    words = " ".join(_WORDS.findall(type(parsed.statement).__name__)).upper()
    words = "ALTER TYPE" if words.startswith("ALTER TYPE ") else words
    return words if words.startswith(("CREATE ", "ALTER ")) else parsed.text.split(None, 1)[0].rstrip(";").upper()
