"""The decoders of ENCODE AVRO, by FORMAT, and the columns of a schema."""

from __future__ import annotations

import json

from risingpy.connectors.formats.avro.reader import AvroReader
from risingpy.connectors.formats.avro.schema import AvroType, parse_schema, sql_type
from risingpy.connectors.formats.avro.schemas import WriterSchemas
from risingpy.connectors.formats.avro_key_reader import AvroKeyReader
from risingpy.connectors.formats.columns import DEFAULT_HANDLING
from risingpy.connectors.formats.debezium_avro import AvroEnvelopes
from risingpy.connectors.formats.debezium_decoder import DebeziumDecoder, DebeziumReaders
from risingpy.connectors.formats.decoder import Decoder
from risingpy.connectors.formats.format_options import ignores_key, maps_as_jsonb
from risingpy.connectors.formats.json_key_reader import JsonKeyReader
from risingpy.connectors.formats.keyed_columns import KeyedColumns
from risingpy.connectors.formats.plain_decoder import PlainDecoder
from risingpy.connectors.formats.schema_options import schema_options
from risingpy.connectors.formats.upsert_decoder import UpsertDecoder
from risingpy.errors import InvalidParameterValue
from risingpy.types import SqlType


def avro_decoder(row_format: str, columns: KeyedColumns, options: dict[str, str]) -> Decoder:
    """The decoder; takes the options that it knows out of `options`."""
    found = schema_options(options)
    maps_as_jsonb(options)  # the columns' types say it
    source = None if found.text is None else source_schema(found.text)
    schemas = WriterSchemas(found.registry, source)
    key_columns = columns.key_columns
    match row_format:
        case "upsert":
            key_reader = _key_reader(columns, schemas, has_registry=found.registry is not None)
            return UpsertDecoder(columns, AvroReader(columns.columns, schemas, source), key_reader)
        case "debezium":
            ignored = ignores_key(options)
            keys = None if ignored else _key_reader(columns, schemas, has_registry=found.registry is not None)
            rows = AvroReader(columns.columns, schemas, source, part="after")
            key_of_row = AvroReader(key_columns, schemas, source, part="before")
            return DebeziumDecoder(columns, DebeziumReaders(AvroEnvelopes(schemas), rows, key_of_row, keys))
    return PlainDecoder(AvroReader(columns.columns, schemas, source))


def _key_reader(columns: KeyedColumns, schemas: WriterSchemas, *, has_registry: bool) -> AvroKeyReader | JsonKeyReader:
    """A schema from a file is that of payloads: then keys have none."""
    others = JsonKeyReader(columns.key_columns, DEFAULT_HANDLING)
    return (
        AvroKeyReader(columns.key_columns, AvroReader(columns.key_columns, schemas, None), others)
        if has_registry
        else others
    )


def source_schema(text: str) -> AvroType:
    """The schema of `schema_options.SchemaOptions.text`."""
    *references, schema = json.loads(text)
    return parse_schema(schema, references)


def avro_columns(row_format: str, options: dict[str, str], text: str) -> list[tuple[str, SqlType]]:
    """The columns of a source that names none: the fields of the record, of `after` in Debezium's envelopes.

    Raises InvalidParameterValue if the schema is no record.
    """
    schema = source_schema(text)
    if row_format == "debezium":
        field = schema.field("after")
        schema = schema if field is None else field.type.row
    if schema.kind != "record":
        raise InvalidParameterValue(f"the Avro schema is a {schema.kind}, not a record: name the columns")
    as_jsonb = maps_as_jsonb(options)
    return [(field.name, sql_type(field.type, maps_as_jsonb=as_jsonb)) for field in schema.fields]
