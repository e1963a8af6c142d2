"""The decoders of ENCODE PROTOBUF, by FORMAT, and the columns of a schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from risingpy.connectors.formats.columns import DEFAULT_HANDLING
from risingpy.connectors.formats.decoder import Decoder
from risingpy.connectors.formats.format_options import maps_as_jsonb
from risingpy.connectors.formats.json_key_reader import JsonKeyReader
from risingpy.connectors.formats.keyed_columns import KeyedColumns
from risingpy.connectors.formats.plain_decoder import PlainDecoder
from risingpy.connectors.formats.schema_options import SchemaOptions, at_location, schema_options, topic_of
from risingpy.connectors.formats.upsert_decoder import UpsertDecoder
from risingpy.connectors.late_imports import imported
from risingpy.errors import FeatureNotSupported, InvalidParameterValue
from risingpy.types import SqlType

_PACKAGE = "risingpy.connectors.formats.protobuf"


def protobuf_decoder(row_format: str, columns: KeyedColumns, options: dict[str, str]) -> Decoder:
    """The decoder; takes the options that it knows out of `options`."""
    if row_format == "debezium":
        raise FeatureNotSupported("FORMAT DEBEZIUM ENCODE PROTOBUF is not supported")
    found = schema_options(options)
    maps_as_jsonb(options)  # the columns' types say it
    message = _message(found)
    reader = _module("reader").ProtobufReader(columns.columns, message, has_header=found.registry is not None)
    if row_format == "upsert":
        return UpsertDecoder(columns, reader, JsonKeyReader(columns.key_columns, DEFAULT_HANDLING))
    return PlainDecoder(reader)


def protobuf_text(found: SchemaOptions, source_options: Mapping[str, str]) -> str:
    """The text of the descriptors that the options name."""
    descriptors = _module("descriptors")
    if found.message is None:
        raise InvalidParameterValue("ENCODE PROTOBUF needs the option message", hint="message = 'package.Message'")
    if found.registry is None:
        return str(descriptors.set_of_file(at_location(found.location or "")))
    registered = found.registered(topic_of(source_options), serialized=True)
    if registered.kind != "PROTOBUF":
        raise InvalidParameterValue(f"the latest schema of the topic is of type {registered.kind}, not PROTOBUF")
    return str(descriptors.set_of_registry(registered))


def protobuf_columns(options: dict[str, str]) -> list[tuple[str, SqlType]]:
    """The columns of a source that names none: the fields of the message."""
    as_jsonb = maps_as_jsonb(options)
    message = _message(schema_options(options))
    found: list[tuple[str, SqlType]] = _module("descriptors").columns_of(message.DESCRIPTOR, maps_as_jsonb=as_jsonb)
    return found


def _message(found: SchemaOptions) -> Any:
    """The class of the message that the options name."""
    if found.text is None or found.message is None:
        raise InvalidParameterValue("ENCODE PROTOBUF needs a schema and the option message")
    return _module("descriptors").message_class(found.text, found.message)


def _module(name: str) -> Any:
    """A module on Google's runtime, which is an extra."""
    try:
        return imported(f"{_PACKAGE}.{name}")
    except ImportError as error:
        hint = "Install it: pip install 'risingpy[protobuf]'"
        raise FeatureNotSupported(f"ENCODE PROTOBUF is not installed: {error}", hint=hint) from error
