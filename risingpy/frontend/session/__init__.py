"""A client's session: the wire layer calls it, and statements use it.

In: the calls of `wire/session_protocol.py` by the wire layer. Out: the results of statements' commands.

    client_session.py     the session as the wire layer sees it
    context.py            the session as its statements see it
    commands.py           binds, caches and runs statements
    committing_statements.py  which statements commit those before them in the same text
    recurring_texts.py    plans texts that come again with other values once for all of them
    short_*.py, waits.py, parsed_texts.py  statements that are answered without a thread of their own
    statement_timeout.py  the deadline of a statement
    statement_clock.py    how long statements take, and the log of slow ones
"""

from risingpy.frontend.session.client_session import ClientSession, open_session

__all__ = ["ClientSession", "open_session"]
