"""The database inside of a Python program: no server to start, and rows in and out as Arrow.

In: `risingpy.connect("./data")`. Out: an `EmbeddedDatabase`; its results are Arrow tables, data frames or Python rows.

    database.py            opens and closes the directory; sessions; what a program calls
    session.py             runs statements in a session, a client like any other
    statement_result.py    a statement's rows, as Arrow, pandas, polars, Python
    python_values.py       Python values as parameters, and rows as Python values
    given_rows.py          rows of a program as the columns of a table
    buenavista_backend.py  the database behind buenavista's own servers
    changes.py             the changes of a view, as they happen
"""

from risingpy.embedded.changes import Change, ChangeStream
from risingpy.embedded.database import EmbeddedDatabase, connect
from risingpy.embedded.session import EmbeddedSession
from risingpy.embedded.statement_result import StatementResult

__all__ = ["Change", "ChangeStream", "EmbeddedDatabase", "EmbeddedSession", "StatementResult", "connect"]
