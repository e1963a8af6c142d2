"""One file per statement: each binds it on the session's catalog snapshot and says how to run it.

Each knows its session as a `StatementContext` alone (statement_context.py).

In: a parsed statement. Out: a `Command`. Called by the session.
"""

from risingpy.frontend.statements.dispatch import bind_statement

__all__ = ["bind_statement"]
