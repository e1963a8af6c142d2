"""One file per statement: each binds it on the session's catalog snapshot and says how to run it.

In: a parsed statement. Out: a `PreparedStatement`. Called by the session.
"""

from risingpy.frontend.statements.dispatch import prepare_statement

__all__ = ["prepare_statement"]
