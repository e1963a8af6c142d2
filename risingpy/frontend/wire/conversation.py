"""Answers the messages of a client whose session is open, until it terminates. No I/O.

1. After an error in an extended message comes ErrorResponse; protocol.py then drops everything until Sync.
2. A Query is answered with exactly one ReadyForQuery, whatever happens.
3. Bytes that are no message raise `Fatal`, which ends the connection.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from risingpy.errors import SqlError
from risingpy.frontend.wire import server_messages
from risingpy.frontend.wire.client_messages import (
    Bind,
    Close,
    DescribeMessage,
    ExecuteMessage,
    ExtendedMessage,
    FlushMessage,
    FunctionCall,
    Malformed,
    Parse,
    QueryMessage,
    Sync,
    Terminate,
)
from risingpy.frontend.wire.extended_query import ExtendedQuery
from risingpy.frontend.wire.responder import Responder
from risingpy.frontend.wire.simple_query import run_simple_query


def greet(responder: Responder, parameters: Mapping[str, str], process_id: int, secret_key: bytes) -> None:
    """Tells the client that its session is open."""
    responder.write(server_messages.authentication_ok())
    for name, value in parameters.items():
        responder.write(server_messages.parameter_status(name, value))
    responder.write(server_messages.backend_key_data(process_id, secret_key))
    responder.ready()


def converse(responder: Responder) -> bool:
    """Answers messages until the client terminates (True), or rests (False): then it is called again later."""
    extended = ExtendedQuery(responder)
    channel = responder.channel
    while True:
        message = channel.next_message()
        match message:
            case QueryMessage():
                run_simple_query(responder, message)
                responder.finish_series()
            case Parse() | Bind() | DescribeMessage() | ExecuteMessage() | Close():
                _answer_extended(responder, extended, message)
            case Sync():
                responder.finish_series()
            case FlushMessage():
                channel.flush()
            case Malformed():
                _refuse(responder, message.error, in_series=message.in_series)
            case FunctionCall():
                refusal = SqlError("function call messages are not supported", sqlstate="0A000")
                _refuse(responder, refusal, in_series=False)
            case Terminate():
                return True
            case None:
                return False
            case _:
                assert_never(message)


def _answer_extended(responder: Responder, extended: ExtendedQuery, message: ExtendedMessage) -> None:
    if not responder.guarded(lambda: extended.handle(message)):
        responder.channel.skip_to_sync()
        responder.channel.flush()


def _refuse(responder: Responder, error: SqlError, *, in_series: bool) -> None:
    responder.fail_statement(error)
    if in_series:
        responder.channel.flush()
    else:
        responder.finish_series()
