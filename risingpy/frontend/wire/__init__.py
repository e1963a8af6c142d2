"""The Postgres wire protocol: bytes from and to clients, over sessions that know SQL.

In: TCP connections. Out: calls of a `Session` (session_protocol.py), one session per connection, one thread each.
Called by `risingpy.server`, which gives `WireServer` a function that opens sessions.

    server.py          listens, watches over connections, ends them
    connection.py      one connection: messages, state, errors       startup.py   its first packets
    simple_query.py, extended_query.py, portal.py, parameters.py     the two sub-protocols
    results.py, data_row.py, fields.py                               rows → DataRow, in bulk
    copy_in.py, copy_decode.py, copy_rows.py, copy_binary.py, copy_out.py, copy_options.py   COPY
    messages.py, payload.py                                          bytes of messages, both directions
"""

from risingpy.frontend.wire.limits import Limits
from risingpy.frontend.wire.server import CannotListen, WireServer

__all__ = ["CannotListen", "Limits", "WireServer"]
