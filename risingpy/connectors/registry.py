"""The table of the sources' connectors: `WITH (connector = '…')` names one of them.

A connector's module is imported when a source names it, because it may need a library that is not installed. A package
outside RisingPy adds one with an entry point of the group `risingpy.connectors`: its name, and a class.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from importlib.metadata import entry_points
from typing import cast

from risingpy.connectors.seekable import SeekableConnector
from risingpy.errors import FeatureNotSupported, InvalidParameterValue

Options = Mapping[str, str]

# By name: module and class, and the extra of RisingPy that installs what the module needs.
_CONNECTORS: Mapping[str, tuple[str, str]] = {
    "file": ("risingpy.connectors.file_source:FileConnector", ""),
    "kafka": ("risingpy.connectors.kafka.source:KafkaConnector", "kafka"),
}
_GROUP = "risingpy.connectors"
_OF_EVERY_SOURCE = ("connector", "source_rate_limit")


def connector_of(options: Options) -> SeekableConnector:
    """The connector that the options of a source name, made of the other options.

    Raises InvalidParameterValue for an unknown connector or wrong options, FeatureNotSupported if a library is missing.
    """
    name = options.get("connector", "").lower()
    own = {key: value for key, value in options.items() if key not in _OF_EVERY_SOURCE}
    rate_limit(options)
    return _class_of(name)(own)


def rate_limit(options: Options) -> int | None:
    """`source_rate_limit`: rows a second that each view reads, 0 for none at all; None if there is no limit."""
    text = options.get("source_rate_limit")
    if text is None or text.lower() == "default":
        return None
    if not text.isdecimal():
        hint = "It is rows a second; 0 pauses the source, and DEFAULT is no limit."
        raise InvalidParameterValue(f'invalid source_rate_limit "{text}"', hint=hint)
    return int(text)


def _class_of(name: str) -> Callable[[Options], SeekableConnector]:
    known = _CONNECTORS.get(name)
    if known is None:
        for found in entry_points(group=_GROUP):
            if found.name == name:
                return cast(Callable[[Options], SeekableConnector], found.load())
        others = sorted({*_CONNECTORS, *(found.name for found in entry_points(group=_GROUP))})
        hint = f"Connectors are {', '.join(others)}."
        raise InvalidParameterValue(f'unknown connector "{name}"', hint=hint)
    (module, made), extra = known[0].split(":"), known[1]
    try:
        return cast(Callable[[Options], SeekableConnector], getattr(importlib.import_module(module), made))
    except ImportError as error:
        hint = f"Install it: pip install 'risingpy[{extra}]'"
        raise FeatureNotSupported(f"the {name} connector is not installed: {error}", hint=hint) from error
