"""The decoder of a source's messages, by its FORMAT and ENCODE."""

from __future__ import annotations

from collections.abc import Sequence

from risingpy.connectors.formats.bytes_decoder import BytesDecoder
from risingpy.connectors.formats.csv_decoder import CsvDecoder
from risingpy.connectors.formats.decoder import Decoder, MessageFormat
from risingpy.connectors.formats.json_decoder import JsonDecoder
from risingpy.errors import FeatureNotSupported, InvalidParameterValue
from risingpy.types import SqlType

_ENCODINGS = ("json", "csv", "bytes")


def decoder_of(
    message_format: MessageFormat, columns: Sequence[tuple[str, SqlType]], key_columns: Sequence[str]
) -> Decoder:
    """See `decoder.DecoderFactory`."""
    options = dict(message_format.options)
    if message_format.row_format != "plain":
        raise FeatureNotSupported(f"FORMAT {message_format.row_format.upper()} is not supported")
    decoder: Decoder
    match message_format.encoding:
        case "json":
            decoder = JsonDecoder(columns)
        case "csv":
            if options.pop("without_header", "true").lower() != "true":
                raise FeatureNotSupported("messages with a header line are not supported", hint="without_header = true")
            decoder = CsvDecoder(columns, options.pop("delimiter", ","))
        case "bytes":
            decoder = BytesDecoder(columns)
        case unknown:
            hint = f"Encodings are {', '.join(_ENCODINGS)}."
            raise FeatureNotSupported(f"ENCODE {unknown.upper()} is not supported", hint=hint)
    if options:
        name = min(options)
        raise InvalidParameterValue(f'unknown option "{name}" of ENCODE {message_format.encoding.upper()}')
    return decoder
