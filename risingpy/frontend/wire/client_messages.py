"""The messages of a client whose session is open: each as data, with a function that reads its body. No I/O.

The layouts are those of the manual's chapter 55.7. The first packets of a connection are in startup.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from buenavista.postgres import ClientCommand

from risingpy.errors import ProtocolViolation, SqlError
from risingpy.frontend.wire.payload import Payload

FUNCTION_CALL = b"F"
COPY_DATA = b"d"
COPY_DONE = b"c"
COPY_FAIL = b"f"


class Target(Enum):
    """The kind of object that Describe and Close name."""

    STATEMENT = b"S"
    PORTAL = b"P"


@dataclass(frozen=True, slots=True)
class QueryMessage:
    """A text of statements, in the simple protocol."""

    text: str


@dataclass(frozen=True, slots=True)
class Parse:
    """Prepares a statement. The type of a parameter with the OID 0, or with none, is inferred."""

    name: str
    text: str
    parameter_oids: list[int]


@dataclass(frozen=True, slots=True)
class Arguments:
    """The values of a Bind, None for NULL. There is a format code per value, one for all, or none (text)."""

    formats: list[int]
    values: list[bytes | None]
    result_formats: list[int]


@dataclass(frozen=True, slots=True)
class Bind:
    """Makes a portal. It keeps the error of malformed arguments: PostgreSQL reports an unknown statement first."""

    portal: str
    statement: str
    arguments: Arguments | SqlError


@dataclass(frozen=True, slots=True)
class DescribeMessage:
    """Asks for the parameters of a statement, or for the columns of its rows."""

    target: Target
    name: str


@dataclass(frozen=True, slots=True)
class ExecuteMessage:
    """Runs a portal; `limit` rows at most, if it is above 0."""

    portal: str
    limit: int


@dataclass(frozen=True, slots=True)
class Close:
    """Forgets a statement or a portal, if there is one of that name."""

    target: Target
    name: str


@dataclass(frozen=True, slots=True)
class Sync:
    """The end of a series of extended messages."""


@dataclass(frozen=True, slots=True)
class FlushMessage:
    """Asks the server to send its answers so far."""


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """The protocol's own way to call a function, which is obsolete; its body is not read."""


@dataclass(frozen=True, slots=True)
class Terminate:
    """The client ends the connection."""


@dataclass(frozen=True, slots=True)
class Malformed:
    """A message whose body cannot be read. `in_series`: it is one of the extended protocol, so the rest is dropped."""

    error: SqlError
    in_series: bool


@dataclass(frozen=True, slots=True)
class CopyData:
    """A piece of COPY's data, cut anywhere."""

    data: bytes


@dataclass(frozen=True, slots=True)
class CopyDone:
    """The client has sent all of its COPY."""


@dataclass(frozen=True, slots=True)
class CopyFail:
    """The client gives its COPY up."""

    reason: str


ExtendedMessage = Parse | Bind | DescribeMessage | ExecuteMessage | Close
Message = QueryMessage | ExtendedMessage | Sync | FlushMessage | FunctionCall | Terminate | Malformed
CopyMessage = CopyData | CopyDone | CopyFail


def decode_message(kind: bytes, body: bytes) -> QueryMessage | ExtendedMessage:
    """The message of a kind that has a body. Raises a SqlError if it is malformed."""
    payload = Payload(body)
    message = _DECODERS[kind](payload)
    payload.end()
    return message


def _query(payload: Payload) -> QueryMessage:
    return QueryMessage(payload.string())


def _parse(payload: Payload) -> Parse:
    return Parse(payload.string(), payload.string(), payload.uint32s())


def _bind(payload: Payload) -> Bind:
    portal, statement = payload.string(), payload.string()
    try:
        formats = payload.int16s()
        values = [payload.value() for _ in range(payload.count())]
        arguments = Arguments(formats, values, payload.int16s())
        payload.end()
    except SqlError as error:
        payload.skip()
        return Bind(portal, statement, error)
    return Bind(portal, statement, arguments)


def _describe(payload: Payload) -> DescribeMessage:
    return DescribeMessage(*_target(payload, "DESCRIBE"))


def _execute(payload: Payload) -> ExecuteMessage:
    return ExecuteMessage(payload.string(), payload.int32())


def _close(payload: Payload) -> Close:
    return Close(*_target(payload, "CLOSE"))


def _target(payload: Payload, command: str) -> tuple[Target, str]:
    kind, name = payload.byte(), payload.string()
    payload.end()
    match kind:
        case Target.STATEMENT.value:
            return Target.STATEMENT, name
        case Target.PORTAL.value:
            return Target.PORTAL, name
    raise ProtocolViolation(f"invalid {command} message subtype {kind[0]}")


_DECODERS: dict[bytes, Callable[[Payload], QueryMessage | ExtendedMessage]] = {
    ClientCommand.QUERY: _query,
    ClientCommand.PARSE: _parse,
    ClientCommand.BIND: _bind,
    ClientCommand.DESCRIBE: _describe,
    ClientCommand.EXECUTE: _execute,
    ClientCommand.CLOSE: _close,
}
