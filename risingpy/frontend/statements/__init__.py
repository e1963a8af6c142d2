"""One file per statement: it binds the statement on the session's catalog snapshot, and runs it.

A statement knows its session only as a `StatementContext` (statement_context.py).

In: a parsed statement. Out: a `Command`. Called by the session.
"""

from risingpy.frontend.statements.dispatch import bind_statement

__all__ = ["bind_statement"]
