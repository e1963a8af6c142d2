"""The options of a NATS source, as RisingWave names them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum

from risingpy.connectors.nats_client import CONNECTION_OPTIONS
from risingpy.connectors.targets.options import Options
from risingpy.errors import FeatureNotSupported, InvalidParameterValue

_SINCE = ("scan.startup.timestamp.millis", "scan.startup.timestamp_millis")
_DURABLE_NAMES = ("consumer.durable_name", "durable_consumer_name")  # of RisingWave: here the engine has the positions
_MODES = ("plain", "user_and_password", "credential")


class Beginning(Enum):
    """Where a view begins: at the first message, after the last one, or at the first one since a time."""

    EARLIEST = "earliest"
    LATEST = "latest"
    TIMESTAMP = "timestamp"


@dataclass(frozen=True, slots=True)
class JetStreamOptions:
    """`connection` are those of the servers. `subjects` of the stream are read (with wildcards)."""

    connection: Options
    stream: str
    subjects: tuple[str, ...]
    beginning: Beginning
    since: datetime | None


def jetstream_options(values: Mapping[str, str]) -> JetStreamOptions:
    """The checked options. Raises InvalidParameterValue for one that is missing, unknown or wrong."""
    options = Options("the nats connector", values)
    known = (*CONNECTION_OPTIONS, "subject", "stream", "connect_mode", "scan.startup.mode", *_SINCE, *_DURABLE_NAMES)
    unknown = values.keys() - set(known)
    if unknown:
        hint = f"Options are {', '.join(sorted(known))}."
        raise InvalidParameterValue(f'unknown option "{min(unknown)}" of the nats connector', hint=hint)
    options.required("server_url")
    mode = options.one_of("connect_mode", _MODES, "user_and_password" if options.text("username") else "plain")
    if mode == "credential":
        raise FeatureNotSupported("connect_mode credential is not supported", hint="user_and_password is, and a token.")
    if mode == "user_and_password":
        options.required("username")
        options.required("password")
    subjects = tuple(subject.strip() for subject in options.required("subject").split(",") if subject.strip())
    beginning, since = _beginning(options)
    return JetStreamOptions(options, options.required("stream"), subjects, beginning, since)


def _beginning(options: Options) -> tuple[Beginning, datetime | None]:
    text = next((options.text(name) for name in _SINCE if options.text(name)), "")
    if text and (not text.isdecimal() or len(text) > 15):
        raise InvalidParameterValue(f'invalid {_SINCE[0]} "{text}"', hint="It is milliseconds since 1970.")
    modes = [mode.value for mode in Beginning]
    found = Beginning(options.one_of("scan.startup.mode", modes, "timestamp" if text else "earliest"))
    if found is not Beginning.TIMESTAMP:
        return found, None
    if not text:
        raise InvalidParameterValue(f"scan.startup.mode timestamp needs {_SINCE[0]}")
    return found, datetime.fromtimestamp(int(text) / 1000, UTC)
