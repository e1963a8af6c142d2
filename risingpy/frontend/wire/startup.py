"""The start of a connection: its packets as data, and the server's parameters (the manual's chapter 55.2.1). No I/O.

packet: int32 length | int32 code | body
code 80877103 SSLRequest, 80877104 GSSENCRequest: answered S (TLS follows) or N; 80877102 CancelRequest;
else a protocol version, and the body is pairs of NUL-ended texts up to an empty one
"""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass

from risingpy.errors import FeatureNotSupported, InvalidParameterValue, ProtocolViolation, SqlError
from risingpy.frontend.wire.payload import decode_text

PARAMETER_STATUS: dict[str, str] = {
    "server_version": "14.17",  # psql and drivers then send catalog queries of that age
    "server_encoding": "UTF8",
    "client_encoding": "UTF8",
    "application_name": "",
    "DateStyle": "ISO, MDY",
    "IntervalStyle": "postgres",
    "TimeZone": "UTC",
    "integer_datetimes": "on",
    "standard_conforming_strings": "on",
    "is_superuser": "on",
}
"""Reported at startup; `Session.parameter_status` goes over it."""

_SSL_REQUEST = 80877103
_GSSENC_REQUEST = 80877104
_CANCEL_REQUEST = 80877102
_MAJOR = 3
NEWEST_MINOR = 0
_UTF8_NAMES = frozenset(("utf8", "unicode", "auto"))


@dataclass(frozen=True, slots=True)
class EncryptionRequest:
    """An offer to encrypt, by TLS (`tls`) or GSSAPI."""

    tls: bool


@dataclass(frozen=True, slots=True)
class CancelRequest:
    """Asks to cancel the statement of another connection."""

    process_id: int
    secret_key: bytes


@dataclass(frozen=True, slots=True)
class StartupMessage:
    """A startup packet. `unknown_options` are protocol extensions (`_pq_.…`); `minor` the version 3.minor asked for."""

    user: str
    database: str
    settings: Mapping[str, str]
    minor: int
    unknown_options: tuple[str, ...]

    @property
    def needs_negotiation(self) -> bool:
        """The client asked for more than 3.0."""
        return self.minor > NEWEST_MINOR or bool(self.unknown_options)


StartupPacket = EncryptionRequest | CancelRequest | StartupMessage


def decode_packet(packet: bytes) -> StartupPacket:
    """Reads a packet, given without its length: at least 4 bytes. Raises a SqlError that must end the connection."""
    (code,) = struct.unpack_from("!I", packet)
    if code in (_SSL_REQUEST, _GSSENC_REQUEST):
        return EncryptionRequest(code == _SSL_REQUEST)
    if code == _CANCEL_REQUEST:
        if len(packet) < 12:
            raise ProtocolViolation("invalid length of cancel request packet")
        return CancelRequest(struct.unpack_from("!I", packet, 4)[0], packet[8:])
    return _parse_startup(code, packet[4:])


def _parse_startup(code: int, body: bytes) -> StartupMessage:
    major, minor = code >> 16, code & 0xFFFF
    if major != _MAJOR:
        raise FeatureNotSupported(f"unsupported frontend protocol {major}.{minor}: server supports 3.0 to 3.0")
    if not body.endswith(b"\0"):
        raise ProtocolViolation("invalid startup packet layout: expected terminator as last byte")
    words = body[:-1].split(b"\0")[:-1]
    if len(words) % 2:
        raise ProtocolViolation("invalid startup packet layout: a name without a value")
    texts = [decode_text(word) for word in words]
    pairs = dict(zip(texts[::2], texts[1::2], strict=True))
    user = pairs.pop("user", "")
    if not user:
        raise SqlError("no PostgreSQL user name specified in startup packet", sqlstate="28000")
    database = pairs.pop("database", "") or user
    if pairs.pop("replication", "false").lower() not in ("false", "off", "no", "0", "f", "n"):
        raise FeatureNotSupported("replication connections are not supported")
    unknown = tuple(name for name in pairs if name.startswith("_pq_."))
    options = parse_options(pairs.pop("options", ""))
    settings = {**options, **{name: value for name, value in pairs.items() if name not in unknown}}
    _check_encoding(settings)
    return StartupMessage(user, database, settings, minor, unknown)


def parse_options(options: str) -> dict[str, str]:
    """`-c name=value` and `--name=value`, blanks and backslashes escaped with a backslash."""
    words = [re.sub(r"\\(.)", r"\1", word) for word in re.findall(r"(?:\\.|[^\s\\])+", options)]
    settings: dict[str, str] = {}
    position = 0
    while position < len(words):
        word = words[position]
        position += 1
        if word == "-c" and position < len(words):
            word = words[position]
            position += 1
        elif word.startswith(("-c", "--")):
            word = word[2:]
        else:
            raise InvalidParameterValue(f"invalid command-line argument for server process: {word}", sqlstate="42601")
        name, equals, value = word.partition("=")
        if not equals:
            raise InvalidParameterValue(f"-c {word} requires a value", sqlstate="42601")
        settings[name.replace("-", "_")] = value
    return settings


def _check_encoding(settings: Mapping[str, str]) -> None:
    for name, value in settings.items():
        if name.lower() == "client_encoding" and re.sub("[^a-z0-9]", "", value.lower()) not in _UTF8_NAMES:
            raise FeatureNotSupported(f'client_encoding "{value}" is not supported: use UTF8')
