"""Which encoder FORMAT … ENCODE … (options) means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from risingpy.connectors.formats.decoder import KEY_ENCODING, MessageFormat
from risingpy.connectors.targets.encoders.connect_schema import WithSchema, connect_struct, record_name
from risingpy.connectors.targets.encoders.debezium import DebeziumMessages
from risingpy.connectors.targets.encoders.encoder import MessageEncoder
from risingpy.connectors.targets.encoders.json_leaves import JsonForms, TimestamptzForm
from risingpy.connectors.targets.encoders.json_objects import JsonObjects
from risingpy.connectors.targets.encoders.keys import key_rows
from risingpy.connectors.targets.encoders.plain import PlainMessages, RowTexts, UpsertMessages
from risingpy.connectors.targets.encoders.registered.avro_rows import avro_rows
from risingpy.connectors.targets.encoders.registered.protobuf_choice import protobuf_rows
from risingpy.connectors.targets.encoders.text import ColumnBytes, CsvRows, TemplateRows
from risingpy.connectors.targets.options import Options
from risingpy.connectors.targets.target import SinkSchema, SinkType
from risingpy.errors import FeatureNotSupported, InvalidParameterValue

JSON_OPTIONS = ("timestamptz.handling.mode", "jsonb.handling.mode")
_SCHEMAS = "schemas.enable"
OF_ENGINE = ("force_append_only", "ignore_delete")  # RisingWave has them here, too: see `engine_options`
_TYPES = {"plain": (SinkType.APPEND_ONLY,), "upsert": (SinkType.UPSERT,), "debezium": (SinkType.DEBEZIUM,)}


def default_format(type_: SinkType) -> MessageFormat:
    """The format of a sink of this type that names none."""
    names = {SinkType.APPEND_ONLY: "plain", SinkType.UPSERT: "upsert", SinkType.DEBEZIUM: "debezium"}
    if type_ not in names:
        raise FeatureNotSupported(f"messages of sink type {type_.value} are not supported")
    return MessageFormat(names[type_], "json")


def encoder_of(message_format: MessageFormat | None, schema: SinkSchema, topic: str | None = None) -> MessageEncoder:
    """An encoder for the schema. None: FORMAT PLAIN, UPSERT or DEBEZIUM ENCODE JSON, by the sink's type.

    `topic` is what a registry knows the messages by. Its encoders ask it when they encode, also if there are no rows.

    Raises InvalidParameterValue for options that the format does not have, FeatureNotSupported for what it cannot.
    """
    chosen = message_format or default_format(schema.type)
    _check_type(chosen, schema)
    owner = f"FORMAT {chosen.row_format.upper()} ENCODE {chosen.encoding.upper()}"
    named = {name: value for name, value in chosen.options if name not in OF_ENGINE}
    options = Options(owner, {name: value for name, value in named.items() if name != KEY_ENCODING})
    if chosen.row_format == "debezium":
        if chosen.encoding != "json" or KEY_ENCODING in named:
            raise _unsupported(chosen)
        options.refuse_unknown((_SCHEMAS,))
        if not options.flag(_SCHEMAS, default=True):
            raise FeatureNotSupported("Debezium's messages always have their schema", hint="schemas.enable = 'true'")
        return DebeziumMessages(schema)
    keys, values = _texts(chosen, options, schema, topic)
    if KEY_ENCODING in named:
        keys = key_rows(named[KEY_ENCODING], [schema.columns[index] for index in schema.primary_key])
    if chosen.row_format == "upsert":
        assert keys is not None
        return UpsertMessages(schema.primary_key, len(schema.columns), keys, values)
    return PlainMessages(schema.primary_key, len(schema.columns), keys, values)


def append_only_encoder(message_format: MessageFormat | None, schema: SinkSchema, owner: str) -> MessageEncoder:
    """`encoder_of` for a target that knows no deletes. Raises FeatureNotSupported for other sink types."""
    if schema.type is not SinkType.APPEND_ONLY:
        hint = "Use type = 'append-only', perhaps with force_append_only = 'true'."
        raise FeatureNotSupported(f"{owner} cannot be of type {schema.type.value}", hint=hint)
    return encoder_of(message_format, schema)


def _check_type(chosen: MessageFormat, schema: SinkSchema) -> None:
    fitting = _TYPES.get(chosen.row_format)
    if fitting is None:
        raise _unsupported(chosen)
    if schema.type not in fitting:
        fits = fitting[0].value
        raise InvalidParameterValue(f"FORMAT {chosen.row_format.upper()} needs a sink of type {fits}")
    if chosen.row_format != "plain" and not schema.primary_key:
        raise InvalidParameterValue(f"primary key not defined for {chosen.row_format} sink")


def _texts(
    chosen: MessageFormat, options: Options, schema: SinkSchema, topic: str | None
) -> tuple[RowTexts | None, RowTexts]:
    """What writes keys, if there is a primary key, and what writes values."""
    key_columns = [schema.columns[index] for index in schema.primary_key]
    match chosen.encoding:
        case "json":
            forms = json_forms(options, (*JSON_OPTIONS, _SCHEMAS))
            json_keys = JsonObjects(key_columns, forms) if key_columns else None
            json_values = JsonObjects(schema.columns, forms)
            if not options.flag(_SCHEMAS):
                return json_keys, json_values
            return _with_schemas(forms, schema, json_keys, json_values)
        case "avro":
            return avro_rows(options, schema.columns, key_columns, topic)
        case "protobuf":
            keys = JsonObjects(key_columns, JsonForms()) if key_columns else None
            return keys, protobuf_rows(options, schema.columns, topic)
        case "csv":
            options.refuse_unknown(("delimiter",))
            keys = JsonObjects(key_columns, JsonForms()) if key_columns else None
            return keys, CsvRows(schema.columns, delimiter_of(options))
        case "bytes" if chosen.row_format == "plain":
            options.refuse_unknown(())
            return None, ColumnBytes(schema.columns)
        case "template":
            options.refuse_unknown(("key_format", "value_format"))
            every = range(len(schema.columns))
            template = TemplateRows(options.required("key_format"), schema.columns, schema.primary_key)
            values = TemplateRows(options.required("value_format"), schema.columns, every)
            return _OfKeyColumns(template, schema.primary_key, len(schema.columns)), values
    raise _unsupported(chosen)


def _with_schemas(
    forms: JsonForms, schema: SinkSchema, keys: JsonObjects | None, values: JsonObjects
) -> tuple[RowTexts | None, RowTexts]:
    """Keys and values beside Kafka Connect's schemas."""
    if forms.json_as_json:
        raise InvalidParameterValue("jsonb.handling.mode = 'dynamic' has no schema that schemas.enable could give")
    key = connect_struct([schema.columns[k] for k in schema.primary_key], forms, record_name(schema, "Key"))
    value = connect_struct(schema.columns, forms, record_name(schema, "Value"))
    return None if keys is None else WithSchema(key, keys), WithSchema(value, values)


@dataclass(frozen=True, slots=True)
class _OfKeyColumns:
    """A template of keys: it gets the key's columns alone, and finds them at their places in the schema."""

    template: TemplateRows
    key_columns: tuple[int, ...]
    columns: int

    def rows(self, arrays: Sequence[pa.Array]) -> pa.Array:
        placed = dict(zip(self.key_columns, arrays, strict=True))
        return self.template.texts([placed.get(index) for index in range(self.columns)])


def json_forms(options: Options, known: Sequence[str]) -> JsonForms:
    """The forms that options of ENCODE JSON ask for. Raises InvalidParameterValue for one that is not known."""
    options.refuse_unknown(known)
    modes = [form.value for form in TimestamptzForm]
    return JsonForms(
        timestamptz=TimestamptzForm(options.one_of("timestamptz.handling.mode", modes, "utc_string")),
        json_as_json=options.one_of("jsonb.handling.mode", ("string", "dynamic"), "string") == "dynamic",
    )


def delimiter_of(options: Options) -> str:
    """The option `delimiter` of CSV: one character."""
    delimiter = options.text("delimiter", ",")
    delimiter = "\t" if delimiter == "\\t" else delimiter
    if len(delimiter) != 1 or delimiter in '"\r\n':
        raise InvalidParameterValue("the option delimiter must be a single character, and no quote or line end")
    return delimiter


def _unsupported(chosen: MessageFormat) -> FeatureNotSupported:
    names = f"FORMAT {chosen.row_format.upper()} ENCODE {chosen.encoding.upper()}"
    return FeatureNotSupported(f"{names} is not supported for sinks")
