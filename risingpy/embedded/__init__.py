"""The database inside of a Python program: no server to start, and rows in and out as Arrow.

In: `risingpy.connect("./data")`. Out: an `EmbeddedDatabase`; its results are Arrow tables, data frames or Python rows.

    database.py            opens and closes the directory; sessions; what a program calls
    session.py             runs statements in a session, a client like any other
    buenavista_backend.py  the database behind buenavista's own servers
    changes.py             the changes of a view, as they happen
"""

from risingpy.embedded.changes import EmbeddedChanges
from risingpy.embedded.database import EmbeddedDatabase, open_directory
from risingpy.embedded.session import EmbeddedSession

__all__ = ["EmbeddedChanges", "EmbeddedDatabase", "EmbeddedSession", "open_directory"]
