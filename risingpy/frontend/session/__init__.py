"""A client's session: what the wire layer calls, and what statements ask for.

In: the calls of `wire/session_protocol.py`, made by the wire layer. Out: results, as statements' commands give them.

    client_session.py     the session as the wire layer sees it
    context.py            the session as its statements see it
    commands.py           statements bound, kept and run
    deadline.py           statement_timeout
"""

from risingpy.frontend.session.client_session import ClientSession, open_session

__all__ = ["ClientSession", "open_session"]
