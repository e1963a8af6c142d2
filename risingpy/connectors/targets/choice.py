"""Which target a sink's options mean: one table, from the name of the connector to the class.

A class is imported when a sink wants it, since its library may be missing: those are extras of the package. A package
outside RisingPy adds one with an entry point (`connectors/entry_points.py`); its class has attributes `sends_messages`
and `interval`, which mean the same as in a `TargetEntry`, or none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple, cast

from risingpy.connectors.entry_points import EntryPointGroup, class_of, names_of
from risingpy.connectors.formats.decoder import MessageFormat
from risingpy.connectors.late_imports import imported
from risingpy.connectors.targets.target import SinkSchema, SinkTarget
from risingpy.errors import FeatureNotSupported, InvalidParameterValue


class TargetEntry(NamedTuple):
    """Where a target's class is. `extra` has its library (empty: RisingPy itself needs it).

    `interval`: seconds between two deliveries, unless a sink says another number: each is a file or a commit there. A
    class is called with the options and the schema, and if it sends messages with their format (or None), too.
    """

    module: str
    name: str
    extra: str = ""
    sends_messages: bool = False
    interval: float = 0.0


TARGETS: Mapping[str, TargetEntry] = MappingProxyType(
    {
        "blackhole": TargetEntry("blackhole", "BlackholeTarget", sends_messages=True),
        "deltalake": TargetEntry("delta", "DeltaTarget", "delta", interval=10.0),
        "fs": TargetEntry("files", "FileTarget", sends_messages=True, interval=10.0),
        "http": TargetEntry("http", "HttpTarget", sends_messages=True),
        "iceberg": TargetEntry("iceberg", "IcebergTarget", "iceberg", interval=10.0),
        "jdbc": TargetEntry("postgres", "PostgresTarget"),
        "kafka": TargetEntry("kafka", "KafkaTarget", "kafka", sends_messages=True),
        "mqtt": TargetEntry("mqtt", "MqttTarget", "mqtt", sends_messages=True),
        "nats": TargetEntry("nats", "NatsTarget", "nats", sends_messages=True),
        "postgres": TargetEntry("postgres", "PostgresTarget"),
        "redis": TargetEntry("redis", "RedisTarget", "redis", sends_messages=True),
        "s3": TargetEntry("object_storage", "ObjectStorageTarget", "s3", sends_messages=True, interval=10.0),
    }
)
"""By the option `connector`."""
TARGETS_WITHOUT_KEYS = ("blackhole",)
"""Those that need not tell rows apart: a sink takes its query's key, whether or not that is among the columns."""


def target_of(
    options: Mapping[str, str], schema: SinkSchema, message_format: MessageFormat | None = None
) -> SinkTarget:
    """The target that `options` describe, not yet connected.

    Raises InvalidParameterValue for options that it does not have, FeatureNotSupported for what it cannot, or if its
    library is missing.
    """
    name = options.get("connector", "")
    entry = TARGETS.get(name)
    if entry is None:
        return _of_another_package(name, options, schema, message_format)
    if message_format is not None and not entry.sends_messages:
        raise FeatureNotSupported(f"the {name} sink has no FORMAT … ENCODE …")
    try:
        module = imported(f"risingpy.connectors.targets.{entry.module}")
    except ModuleNotFoundError as error:
        raise _missing(name, entry, error) from None
    make = getattr(module, entry.name)
    target: SinkTarget = make(options, schema, message_format) if entry.sends_messages else make(options, schema)
    return target


def delivery_interval(connector: str) -> float:
    """Seconds between two deliveries, unless a sink says another number; 0 for a connector that nobody knows."""
    entry = TARGETS.get(connector)
    if entry is not None:
        return entry.interval
    return float(getattr(class_of(EntryPointGroup.SINKS, connector), "interval", 0.0))


def _of_another_package(
    name: str, options: Mapping[str, str], schema: SinkSchema, message_format: MessageFormat | None
) -> SinkTarget:
    make = cast(Callable[..., SinkTarget] | None, class_of(EntryPointGroup.SINKS, name))
    if make is None:
        hint = f"Connectors of sinks are {', '.join([*TARGETS, *names_of(EntryPointGroup.SINKS)])}."
        raise InvalidParameterValue(f'unknown connector "{name}" of a sink', hint=hint)
    if getattr(make, "sends_messages", False):
        return make(options, schema, message_format)
    if message_format is not None:
        raise FeatureNotSupported(f"the {name} sink has no FORMAT … ENCODE …")
    return make(options, schema)


def _missing(name: str, entry: TargetEntry, error: ModuleNotFoundError) -> FeatureNotSupported:
    if not entry.extra:
        raise error
    hint = f"Run pip install 'risingpy[{entry.extra}]' and start the server again."
    return FeatureNotSupported(f"the {name} sink needs the Python package {error.name}", hint=hint)
