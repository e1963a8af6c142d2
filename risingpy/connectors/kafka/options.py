"""The options of a Kafka source, as RisingWave names them, and what no client of ours may be told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from risingpy.errors import InvalidParameterValue

# librdkafka knows them; what reads ranges exactly once must not be set otherwise.
_OURS = frozenset({"isolation.level", "enable.auto.commit", "enable.partition.eof", "auto.offset.reset", "group.id"})
# librdkafka would run what they name in the server's process, which no SQL user may choose.
_RUNS_CODE = frozenset({"plugin.library.paths", "sasl.kerberos.kinit.cmd"})
SERVERS = ("properties.bootstrap.server", "properties.bootstrap.servers")
_TIMESTAMPS = ("scan.startup.timestamp.millis", "scan.startup.timestamp_millis")


class StartupMode(Enum):
    """Where a view begins: at the first message, after the last one, or at the first one since a time."""

    EARLIEST = "earliest"
    LATEST = "latest"
    TIMESTAMP = "timestamp"


@dataclass(frozen=True, slots=True)
class KafkaOptions:
    """`client` is the configuration of librdkafka's clients. `since`: milliseconds since 1970, for TIMESTAMP."""

    topic: str
    client: Mapping[str, str]
    startup: StartupMode
    since: int
    group_prefix: str


def kafka_options(options: Mapping[str, str]) -> KafkaOptions:
    """The checked options. Raises InvalidParameterValue for one that is missing, unknown or wrong."""
    left = dict(options)
    topic = left.pop("topic", "")
    servers = next((left.pop(name) for name in SERVERS if name in left), "")
    if not topic or not servers:
        missing = "topic" if not topic else SERVERS[0]
        raise InvalidParameterValue(f"the kafka connector needs the option {missing}")
    since = next((left.pop(name) for name in _TIMESTAMPS if name in left), "")
    startup = _startup(left.pop("scan.startup.mode", ""), since)
    prefix = left.pop("group.id.prefix", "risingpy")
    client = {name.removeprefix("properties."): left.pop(name) for name in list(left) if name.startswith("properties.")}
    if left:
        raise InvalidParameterValue(f'unknown option "{min(left)}" of the kafka connector')
    for name in sorted(client):
        if name in _OURS:
            raise InvalidParameterValue(f'option "properties.{name}" cannot be set: the source needs its own value')
        refuse_code(name)
    return KafkaOptions(topic, {"bootstrap.servers": servers, **client}, startup, int(since or 0), prefix)


def refuse_code(name: str) -> None:
    """Raises InvalidParameterValue for an option of librdkafka's that no user may set, of a source or a sink."""
    if name in _RUNS_CODE:
        why = "it would run code in the server"
    elif name.endswith("_cb"):
        why = "its value is a function of a program"
    else:
        return
    raise InvalidParameterValue(f'option "properties.{name}" cannot be set: {why}')


def _startup(mode: str, since: str) -> StartupMode:
    if since and not since.isdecimal():
        raise InvalidParameterValue(f'invalid {_TIMESTAMPS[0]} "{since}"', hint="It is milliseconds since 1970.")
    if not mode:
        return StartupMode.TIMESTAMP if since else StartupMode.EARLIEST
    try:
        found = StartupMode(mode.lower())
    except ValueError:
        modes = ", ".join(each.value for each in StartupMode)
        raise InvalidParameterValue(f'invalid scan.startup.mode "{mode}"', hint=f"Modes are {modes}.") from None
    if found is StartupMode.TIMESTAMP and not since:
        raise InvalidParameterValue(f"scan.startup.mode timestamp needs {_TIMESTAMPS[0]}")
    return found
