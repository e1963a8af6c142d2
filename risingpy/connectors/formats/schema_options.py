"""The options that say where a schema is: `schema.registry` or `schema.location`, and what CREATE has found there.

CREATE reads the schema once and keeps it in the format as `schema.text`: what a source means does not change when a
file does. Messages of a registry still say by their ids which schema they were written with.
"""

from __future__ import annotations

import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, replace

from risingpy.connectors.file_roots import allowed
from risingpy.connectors.formats.decoder import MessageFormat
from risingpy.connectors.formats.schema_registry import RegisteredSchema, SchemaRegistry, registry_of
from risingpy.errors import InvalidParameterValue, SourceUnavailable

TEXT = "schema.text"
_STRATEGY = "schema.registry.name.strategy"
_STRATEGIES = ("topic_name_strategy", "record_name_strategy", "topic_record_name_strategy")
_SECONDS = 4.0
_MAX_BYTES = 16 * 2**20


@dataclass(frozen=True, slots=True)
class SchemaOptions:
    """Where the schema is. `text` is what CREATE has found; `message` is the record's full name."""

    registry: SchemaRegistry | None
    location: str | None
    message: str | None
    strategy: str
    text: str | None

    def subject(self, topic: str) -> str:
        """The registry's subject of a topic's values. Raises InvalidParameterValue if it needs a `message`."""
        if self.strategy == _STRATEGIES[0]:
            return f"{topic}-value"
        if self.message is None:
            raise InvalidParameterValue(f"{_STRATEGY} = {self.strategy} needs the option message")
        return self.message if self.strategy == _STRATEGIES[1] else f"{topic}-{self.message}"

    def key_subject(self, topic: str, key_message: str | None) -> str:
        """The registry's subject of a topic's keys. Raises InvalidParameterValue if it needs a `key.message`."""
        if self.strategy == _STRATEGIES[0]:
            return f"{topic}-key"
        if key_message is None:
            raise InvalidParameterValue(f"{_STRATEGY} = {self.strategy} needs the option key.message")
        return key_message if self.strategy == _STRATEGIES[1] else f"{topic}-{key_message}"

    def registered(self, topic: str, *, serialized: bool = False) -> RegisteredSchema:
        """The latest schema of a topic. Raises SourceUnavailable, or InvalidParameterValue if there is none."""
        assert self.registry is not None
        return self.registry.latest(self.subject(topic), serialized=serialized)


def schema_options(options: dict[str, str]) -> SchemaOptions:
    """Takes the options of a schema out. Raises InvalidParameterValue if they name no place, or two."""
    registry = registry_of(options)
    location = options.pop("schema.location", None)
    if (registry is None) == (location is None):
        hint = "schema.registry = 'http://host:8081' or schema.location = 'file:///schema.avsc'"
        raise InvalidParameterValue("ENCODE needs either schema.registry or schema.location", hint=hint)
    strategy = options.pop(_STRATEGY, _STRATEGIES[0]).lower()
    if strategy not in _STRATEGIES:
        raise InvalidParameterValue(f'invalid {_STRATEGY} "{strategy}"', hint=f"It is {', '.join(_STRATEGIES)}.")
    options.pop("key.message", None)
    return SchemaOptions(registry, location, options.pop("message", None), strategy, options.pop(TEXT, None))


def with_text(message_format: MessageFormat, text: str) -> MessageFormat:
    """The format with the text of its schema, in place of one that it has."""
    kept = tuple((name, value) for name, value in message_format.options if name != TEXT)
    return replace(message_format, options=(*kept, (TEXT, text)))


def avro_text(found: SchemaOptions, source_options: Mapping[str, str]) -> str:
    """The text of an Avro schema: JSON, a list of schemas of which the last is the source's."""
    if found.registry is None:
        return json.dumps([at_location(found.location or "").decode()])
    registered = found.registered(topic_of(source_options))
    if registered.kind != "AVRO":
        raise InvalidParameterValue(f"the latest schema of the topic is of type {registered.kind}, not AVRO")
    return json.dumps([*(text for _, text in registered.references), registered.text])


def topic_of(source_options: Mapping[str, str]) -> str:
    """The name that a registry knows a source by."""
    for name in ("topic", "subject", "stream"):
        if name in source_options:
            return source_options[name]
    raise InvalidParameterValue("a schema registry needs a source with a topic")


def at_location(location: str) -> bytes:
    """The content of a file of the server, or of an address. Raises InvalidParameterValue, SourceUnavailable,
    InsufficientPrivilege.
    """
    if location.lower().startswith(("http://", "https://")):
        try:
            with urllib.request.urlopen(location, timeout=_SECONDS) as answer:
                return bytes(answer.read(_MAX_BYTES))
        except OSError as error:
            raise SourceUnavailable(f'schema.location "{location}": {getattr(error, "reason", error)}') from error
    path = allowed(urllib.parse.unquote(location.removeprefix("file://")))
    try:
        with path.open("rb") as file:
            return file.read(_MAX_BYTES)
    except (OSError, ValueError) as error:
        raise InvalidParameterValue(f'schema.location "{location}" cannot be read: {error}') from error
