"""The decoder of a source's messages, by its FORMAT and ENCODE."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from risingpy.connectors.formats.avro_choice import avro_decoder
from risingpy.connectors.formats.bytes_decoder import BytesDecoder
from risingpy.connectors.formats.csv_decoder import CsvDecoder
from risingpy.connectors.formats.debezium_decoder import DebeziumDecoder, DebeziumReaders
from risingpy.connectors.formats.debezium_json import JsonEnvelopes
from risingpy.connectors.formats.decoder import Decoder, MessageFormat
from risingpy.connectors.formats.format_options import ignores_key
from risingpy.connectors.formats.handling import Handling, handling_of
from risingpy.connectors.formats.json_key_reader import JsonKeyReader
from risingpy.connectors.formats.json_reader import JsonReader
from risingpy.connectors.formats.keyed_columns import KeyedColumns, keyed
from risingpy.connectors.formats.plain_decoder import PlainDecoder
from risingpy.connectors.formats.protobuf_choice import protobuf_decoder
from risingpy.connectors.formats.upsert_decoder import UpsertDecoder
from risingpy.errors import FeatureNotSupported, InvalidParameterValue
from risingpy.types import SqlType

_ENCODINGS = ("json", "avro", "protobuf", "csv", "bytes")
_PLAIN_ONLY = ("csv", "bytes")
_ROW_FORMATS = ("plain", "upsert", "debezium")

Columns = Sequence[tuple[str, SqlType]]


def decoder_of(
    message_format: MessageFormat, columns: Columns, key_columns: Sequence[str], null_keys: Collection[str] = ()
) -> Decoder:
    """See `decoder.DecoderFactory`."""
    row_format, encoding = message_format.row_format, message_format.encoding
    options = dict(message_format.options)
    if row_format not in _ROW_FORMATS or (row_format != "plain" and encoding in _PLAIN_ONLY):
        shown = "" if row_format not in _ROW_FORMATS else f" ENCODE {encoding.upper()}"
        raise FeatureNotSupported(f"FORMAT {row_format.upper()}{shown} is not supported")
    if encoding not in _ENCODINGS:
        hint = f"Encodings are {', '.join(_ENCODINGS)}."
        raise FeatureNotSupported(f"ENCODE {encoding.upper()} is not supported", hint=hint)
    if row_format != "plain" and not key_columns:
        hint = "CREATE TABLE … (…, PRIMARY KEY (…)) WITH (…)"
        raise InvalidParameterValue(f"FORMAT {row_format.upper()} needs a table with a primary key", hint=hint)
    # Debezium leaves a key out where nothing has changed: NULL says nothing there.
    nullable = null_keys if row_format != "debezium" else ()
    decoder = _decoder(message_format, keyed(columns, key_columns, nullable), options)
    if options:
        name = min(options)
        raise InvalidParameterValue(f'unknown option "{name}" of ENCODE {encoding.upper()}')
    return decoder


def _decoder(message_format: MessageFormat, columns: KeyedColumns, options: dict[str, str]) -> Decoder:
    """The decoder; takes the options that it knows out of `options`."""
    match message_format.encoding:
        case "csv":
            has_header = options.pop("without_header", "true").lower() != "true"
            return CsvDecoder(columns.columns, options.pop("delimiter", ","), has_header=has_header)
        case "bytes":
            return BytesDecoder(columns.columns)
        case "protobuf":
            return protobuf_decoder(message_format.row_format, columns, options)
        case "avro":
            return avro_decoder(message_format.row_format, columns, options)
    return _json(message_format.row_format, columns, handling_of(options, message_format.row_format), options)


def _json(row_format: str, columns: KeyedColumns, handling: Handling, options: dict[str, str]) -> Decoder:
    rows = JsonReader(columns.columns, handling)
    match row_format:
        case "upsert":
            return UpsertDecoder(columns, rows, JsonKeyReader(columns.key_columns, handling))
        case "debezium":
            keys = None if ignores_key(options) else JsonKeyReader(columns.key_columns, handling)
            key_of_row = JsonReader(columns.key_columns, handling)
            return DebeziumDecoder(columns, DebeziumReaders(JsonEnvelopes(), rows, key_of_row, keys))
    return PlainDecoder(rows)
