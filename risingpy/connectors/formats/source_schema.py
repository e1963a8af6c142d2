"""What CREATE asks of a format that has a schema: the schema's text, to be kept, and its columns."""

from __future__ import annotations

from collections.abc import Mapping

from risingpy.connectors.formats.avro_choice import avro_columns
from risingpy.connectors.formats.decoder import MessageFormat
from risingpy.connectors.formats.protobuf_choice import protobuf_columns, protobuf_text
from risingpy.connectors.formats.schema_options import TEXT, avro_text, schema_options, with_text
from risingpy.errors import InvalidParameterValue
from risingpy.types import SqlType

_WITH_SCHEMA = frozenset({"avro", "protobuf"})


def has_schema(message_format: MessageFormat) -> bool:
    """Whether the messages of a format have a schema, which can say what the columns are."""
    return message_format.encoding in _WITH_SCHEMA


def with_schema(message_format: MessageFormat, source_options: Mapping[str, str]) -> MessageFormat:
    """The format with its schema as it is now; the same one if it has none. `source_options` name the topic.

    Raises SourceUnavailable within 5 s if a registry does not answer, InvalidParameterValue if it has no such schema.
    """
    if not has_schema(message_format):
        return message_format
    found = schema_options(dict(message_format.options))
    text = avro_text if message_format.encoding == "avro" else protobuf_text
    return with_text(message_format, text(found, source_options))


def schema_columns(message_format: MessageFormat) -> list[tuple[str, SqlType]]:
    """Names and types of the columns that the schema of `with_schema` has.

    Raises InvalidParameterValue if the format has none, FeatureNotSupported for types that contain themselves.
    """
    if not has_schema(message_format):
        raise InvalidParameterValue(f"ENCODE {message_format.encoding.upper()} has no schema: name the columns")
    options = dict(message_format.options)
    if message_format.encoding == "protobuf":
        return protobuf_columns(options)
    return avro_columns(message_format.row_format, options, options[TEXT])
