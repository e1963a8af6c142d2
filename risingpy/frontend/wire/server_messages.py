"""Messages from the server, as bytes. No I/O here; the layouts are those of the manual's chapter 55.7."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from buenavista.postgres import ServerResponse

from risingpy.backend import Notification
from risingpy.errors import SqlError
from risingpy.frontend.results import Notice, ResultField

# Messages that buenavista does not know.
COPY_IN_RESPONSE = b"G"
COPY_OUT_RESPONSE = b"H"
COPY_DATA = b"d"
COPY_DONE = b"c"
NEGOTIATE_PROTOCOL_VERSION = b"v"
NOTIFICATION_RESPONSE = b"A"

ENCRYPTION_REFUSED, ENCRYPTION_ACCEPTED = b"N", b"S"
"""The answers to an EncryptionRequest: one byte, which is no message."""

_SASL, _SASL_CONTINUE, _SASL_FINAL = 10, 11, 12


def message(kind: bytes, body: bytes = b"") -> bytes:
    """One message: its type, its length, its body."""
    return kind + (len(body) + 4).to_bytes(4, "big") + body


def authentication_sasl(mechanisms: Sequence[str]) -> bytes:
    """AuthenticationSASL: the mechanisms that the server offers, the best first."""
    names = b"".join(name.encode() + b"\0" for name in mechanisms)
    return message(ServerResponse.AUTHENTICATION_REQUEST, struct.pack("!i", _SASL) + names + b"\0")


def authentication_sasl_continue(data: bytes) -> bytes:
    """AuthenticationSASLContinue."""
    return message(ServerResponse.AUTHENTICATION_REQUEST, struct.pack("!i", _SASL_CONTINUE) + data)


def authentication_sasl_final(data: bytes) -> bytes:
    """AuthenticationSASLFinal."""
    return message(ServerResponse.AUTHENTICATION_REQUEST, struct.pack("!i", _SASL_FINAL) + data)


def error_response(error: SqlError, *, fatal: bool = False) -> bytes:
    """ErrorResponse with every field that the error has."""
    severity = "FATAL" if fatal else error.severity
    parts = [("S", severity), ("V", severity), ("C", error.sqlstate), ("M", error.message)]
    position = None if error.position is None else str(error.position)
    parts += [
        (code, value)
        for code, value in (("D", error.detail), ("H", error.hint), ("P", position), ("W", error.where), *error.about)
        if value is not None
    ]
    return message(ServerResponse.ERROR_RESPONSE, _coded(parts))


def notice_response(notice: Notice) -> bytes:
    """NoticeResponse: severity, SQLSTATE and message, and detail and hint if there are any."""
    parts = [("S", notice.severity), ("V", notice.severity), ("C", notice.sqlstate), ("M", notice.message)]
    parts += [(code, value) for code, value in (("D", notice.detail), ("H", notice.hint)) if value is not None]
    return message(ServerResponse.NOTICE_RESPONSE, _coded(parts))


def notification_response(notification: Notification) -> bytes:
    """NotificationResponse: the process id of who has said it, the channel, the payload."""
    texts = (text.encode(errors="replace") + b"\0" for text in (notification.channel, notification.payload))
    return message(NOTIFICATION_RESPONSE, notification.process_id.to_bytes(4, "big") + b"".join(texts))


def _coded(parts: Sequence[tuple[str, str]]) -> bytes:
    texts = (code.encode() + value.replace("\0", "").encode(errors="replace") + b"\0" for code, value in parts)
    return b"".join(texts) + b"\0"


def row_description(fields: Sequence[ResultField], formats: Sequence[int]) -> bytes:
    """RowDescription: a column's name, table, type and format code (0 text, 1 binary) each."""
    parts = [struct.pack("!h", len(fields))]
    for field, format_ in zip(fields, formats, strict=True):
        type_ = field.type
        numbers = (field.table_oid, field.column_number, type_.oid, type_.typlen, type_.typmod, format_)
        parts.append(field.name.encode() + b"\0" + struct.pack("!IhIhih", *numbers))
    return message(ServerResponse.ROW_DESCRIPTION, b"".join(parts))


def parameter_description(oids: Sequence[int]) -> bytes:
    """ParameterDescription: the OIDs of the statement's parameter types, in order."""
    return message(ServerResponse.PARAMETER_DESCRIPTION, struct.pack(f"!h{len(oids)}I", len(oids), *oids))


def authentication_ok() -> bytes:
    """AuthenticationRequest 0: the client is let in."""
    return message(ServerResponse.AUTHENTICATION_REQUEST, bytes(4))


def parameter_status(name: str, value: str) -> bytes:
    """ParameterStatus: a setting that drivers follow, and its new value."""
    return message(ServerResponse.PARAMETER_STATUS, name.encode() + b"\0" + value.encode() + b"\0")


def backend_key_data(process_id: int, secret_key: bytes) -> bytes:
    """BackendKeyData: what a CancelRequest must repeat to reach this session."""
    return message(ServerResponse.BACKEND_KEY_DATA, struct.pack("!I", process_id) + secret_key)


def command_complete(tag: str) -> bytes:
    """CommandComplete with a tag such as `SELECT 3` or `INSERT 0 1`."""
    return message(ServerResponse.COMMAND_COMPLETE, tag.encode() + b"\0")


def ready_for_query(status: bytes) -> bytes:
    """ReadyForQuery: `status` is I (idle), T (in a transaction) or E (in a failed one)."""
    return message(ServerResponse.READY_FOR_QUERY, status)


def negotiate_protocol_version(newest_minor: int, unknown_options: Sequence[str]) -> bytes:
    """NegotiateProtocolVersion: the newest minor version served, and the client's unknown `_pq_.` options."""
    options = b"".join(option.encode() + b"\0" for option in unknown_options)
    return message(NEGOTIATE_PROTOCOL_VERSION, struct.pack("!ii", newest_minor, len(unknown_options)) + options)


def copy_response(kind: bytes, columns: int, *, binary: bool) -> bytes:
    """CopyInResponse or CopyOutResponse; all columns have the format of the whole."""
    format_ = int(binary)
    return message(kind, struct.pack(f"!bh{columns}h", format_, columns, *([format_] * columns)))
