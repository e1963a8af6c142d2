"""The table of the sources' connectors: `WITH (connector = '…')` names one of them.

A connector's module is imported when a source names it, because it may need a library that is not installed. A package
outside RisingPy adds one with an entry point (`connectors/entry_points.py`): its name, and a class.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import cast

from risingpy.connectors.entry_points import EntryPointGroup, class_of, names_of
from risingpy.connectors.formats.decoder import MessageFormat
from risingpy.connectors.late_imports import imported
from risingpy.connectors.pushed import PushedConnector
from risingpy.connectors.seekable import EncodedFilesConnector, SeekableConnector
from risingpy.errors import FeatureNotSupported, InvalidParameterValue

Options = Mapping[str, str]

# By name: module and class, and the extra of RisingPy that installs what the module needs.
_CONNECTORS: Mapping[str, tuple[str, str]] = {
    "datagen": ("risingpy.connectors.generators.datagen:DatagenConnector", ""),
    "file": ("risingpy.connectors.file_source:FileConnector", ""),
    "kafka": ("risingpy.connectors.kafka.source:KafkaConnector", "kafka"),
    "nats": ("risingpy.connectors.jetstream.source:JetStreamConnector", "nats"),
    "nexmark": ("risingpy.connectors.generators.nexmark:NexmarkConnector", ""),
    "posix_fs": ("risingpy.connectors.stored_files.posix_fs:PosixFsConnector", ""),
    "s3": ("risingpy.connectors.stored_files.s3:S3Connector", "s3"),
}
# Those that send rows by themselves, `connectors/pushed.py`.
_PUSHED: Mapping[str, tuple[str, str]] = {
    "mqtt": ("risingpy.connectors.mqtt:MqttConnector", "mqtt"),
    "mysql-cdc": ("risingpy.connectors.mysql_cdc:MysqlCdcConnector", "mysql"),
    "postgres-cdc": ("risingpy.connectors.postgres_cdc:PostgresCdcConnector", ""),
}
_OF_EVERY_SOURCE = ("connector", "source_rate_limit")


def connector_of(options: Options, message_format: MessageFormat | None = None) -> SeekableConnector:
    """The connector that the options of a source name, made of the other options; one of files, for the format.

    Raises InvalidParameterValue for an unknown connector or wrong options, FeatureNotSupported if a library is missing.
    """
    made = _made(options)
    return made.of_format(message_format) if isinstance(made, EncodedFilesConnector) else made


def file_connector_of(options: Options) -> EncodedFilesConnector | None:
    """The connector of files that the options name; None if they name another. Raises as `connector_of` does."""
    if is_pushed(options) or "connector" not in options:
        return None
    made = _made(options)
    return made if isinstance(made, EncodedFilesConnector) else None


def is_pushed(options: Options) -> bool:
    """Whether the connector sends rows by itself: tables copy them, and no epoch reads the source."""
    name = _name(options)
    return name in _PUSHED or (name not in _CONNECTORS and name in names_of(EntryPointGroup.PUSHED))


def pushed_connector_of(options: Options) -> PushedConnector:
    """As `connector_of`, for options of which `is_pushed` is true."""
    if "source_rate_limit" in options:
        raise InvalidParameterValue(f"the {_name(options)} connector has no source_rate_limit")
    name = _name(options)
    known = _PUSHED.get(name)
    found = class_of(EntryPointGroup.PUSHED, name) if known is None else _imported(name, known)
    return cast(Callable[[Options], PushedConnector], found)(_own(options))


def rate_limit(options: Options) -> int | None:
    """`source_rate_limit`: rows a second that each view reads, 0 for none at all; None if there is no limit."""
    text = options.get("source_rate_limit")
    if text is None or text.lower() == "default":
        return None
    if not text.isdecimal():
        hint = "It is rows a second; 0 pauses the source, and DEFAULT is no limit."
        raise InvalidParameterValue(f'invalid source_rate_limit "{text}"', hint=hint)
    return int(text)


def _name(options: Options) -> str:
    return options.get("connector", "").lower()


def _own(options: Options) -> Options:
    return {key: value for key, value in options.items() if key not in _OF_EVERY_SOURCE}


def _made(options: Options) -> SeekableConnector | EncodedFilesConnector:
    rate_limit(options)
    return _class_of(_name(options))(_own(options))


def _class_of(name: str) -> Callable[[Options], SeekableConnector | EncodedFilesConnector]:
    known = _CONNECTORS.get(name)
    if known is None:
        found = class_of(EntryPointGroup.SEEKABLE, name)
        if found is not None:
            return cast(Callable[[Options], SeekableConnector | EncodedFilesConnector], found)
        elsewhere = names_of(EntryPointGroup.SEEKABLE) + names_of(EntryPointGroup.PUSHED)
        others = sorted({*_CONNECTORS, *_PUSHED, *elsewhere})
        hint = f"Connectors are {', '.join(others)}."
        raise InvalidParameterValue(f'unknown connector "{name}"', hint=hint)
    return cast(Callable[[Options], SeekableConnector | EncodedFilesConnector], _imported(name, known))


def _imported(name: str, known: tuple[str, str]) -> object:
    """The connector's class, of (module and class, extra)."""
    (module, made), extra = known[0].split(":"), known[1]
    try:
        return getattr(imported(module), made)
    except ImportError as error:
        hint = f"Install it: pip install 'risingpy[{extra}]'"
        raise FeatureNotSupported(f"the {name} connector is not installed: {error}", hint=hint) from error
