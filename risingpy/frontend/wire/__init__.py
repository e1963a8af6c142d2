"""The Postgres wire protocol: bytes from and to clients, over sessions that know SQL.

In: TCP connections. Out: calls of a `Session` (session_protocol.py), one session per connection, one thread each.
Called by `risingpy.server`, which gives `WireServer` a function that opens sessions.

    server.py, connection.py, transport.py   sockets and threads: listeners, one connection, its bytes
    tls.py                             the server's certificate, and handshakes
    open_connections.py                all connections: how many there may be, and who looks after them
    sasl_dialogue.py                   the messages of a client that shows who it is
    activity.py                        the state of a connection: when it is cut, ended, cancelled
    protocol.py, byte_queue.py         the client's half as a state machine: bytes in, events out
    startup.py, client_messages.py, payload.py     its packets and messages as data
    conversation.py, responder.py, server_messages.py     the server's half: answers, as bytes
    simple_query.py, extended_query.py, parameters.py     the two sub-protocols
    send_rows.py, data_row.py, fields.py                  rows → DataRow, in bulk
    copy_in.py, copy_decode.py, copy_rows.py, copy_binary.py, copy_out.py   COPY

All files except those in the first two lines are without I/O.
"""

from risingpy.frontend.wire.limits import Limits
from risingpy.frontend.wire.server import CannotListen, WireServer

__all__ = ["CannotListen", "Limits", "WireServer"]
