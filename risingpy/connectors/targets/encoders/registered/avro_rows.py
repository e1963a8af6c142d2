"""Rows in Avro's bytes, with the id of their schema before them: 0 | id, 4 bytes, big-endian | the record.

The subject's latest schema is the rows'. A subject without a schema gets the one that the columns have.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from risingpy.connectors.formats.avro.schema import AvroType, parse_schema
from risingpy.connectors.formats.schema_options import schema_options
from risingpy.connectors.formats.schema_registry import RegisteredSchema, SchemaRegistry
from risingpy.connectors.targets.encoders.registered.avro_bytes import AvroColumn, fields_of, record
from risingpy.connectors.targets.encoders.registered.avro_schema import record_name, record_schema
from risingpy.connectors.targets.encoders.registered.wire_bytes import joined
from risingpy.connectors.targets.options import Options
from risingpy.errors import FeatureNotSupported, InvalidParameterValue, SourceUnavailable, SqlError, TargetUnavailable
from risingpy.types import SqlType

Columns = Sequence[tuple[str, SqlType]]
_KEY_MESSAGE = "key.message"


@dataclass(frozen=True, slots=True)
class _RegisteredRecord:
    """What the registry has said: the bytes before each record, and its fields."""

    header: pa.Scalar
    fields: Sequence[AvroColumn]


class AvroRows:
    """A `RowTexts` of records. The registry is asked when the first rows are written, or none."""

    def __init__(self, columns: Columns, registry: SchemaRegistry, subject: str, name: str) -> None:
        """`name` is the record's, if this registers its schema. Nothing is connected."""
        self._columns = columns
        self._registry = registry
        self._subject = subject
        self._name = name
        self._ready: _RegisteredRecord | None = None

    def rows(self, arrays: Sequence[pa.Array]) -> pa.Array:
        """Raises TargetUnavailable if the registry does not answer, SqlError if its schema cannot take the columns."""
        ready = self._ready = self._ready or self._ask()
        rows = record(ready.fields, arrays, [name for name, _ in self._columns], len(arrays[0]))
        return joined([ready.header, rows])

    def _ask(self) -> _RegisteredRecord:
        try:
            found = self._registry.find_latest(self._subject) or self._registered()
        except SourceUnavailable as error:
            raise TargetUnavailable(error.message) from None
        if found.kind != "AVRO" or found.schema_id is None:
            kind = f'the latest schema of subject "{self._subject}" is of type {found.kind}, not AVRO'
            raise InvalidParameterValue(kind)
        schema = parse_schema(found.text, [text for _, text in found.references])
        return _RegisteredRecord(pa.scalar(struct.pack(">bI", 0, found.schema_id), pa.binary()), self._fields(schema))

    def _registered(self) -> RegisteredSchema:
        text = record_schema(self._columns, self._name)
        return RegisteredSchema("AVRO", text, (), self._registry.register(self._subject, text))

    def _fields(self, schema: AvroType) -> Sequence[AvroColumn]:
        if schema.kind != "record":
            message = f'the schema of subject "{self._subject}" is a {schema.kind}, not a record'
            raise SqlError(message, sqlstate="42804")
        fields = fields_of(schema, self._columns)
        for field in fields:
            field.check()
        return fields


def avro_rows(options: Options, columns: Columns, key: Columns, topic: str | None) -> tuple[AvroRows | None, AvroRows]:
    """What writes keys, if there are columns of one, and rows. Raises InvalidParameterValue for wrong options."""
    if topic is None:
        hint = "ENCODE AVRO is for the kafka sink."
        raise FeatureNotSupported(f"{options.owner} is for a topic whose schema a registry has", hint=hint)
    own = dict(options.values)
    if "schema.location" in own:
        hint = "schema.registry = 'http://host:8081': a schema that it does not have yet is put there."
        raise FeatureNotSupported(f"{options.owner} of a sink needs a schema.registry", hint=hint)
    key_message = own.pop(_KEY_MESSAGE, None)
    found = schema_options(own)
    Options(options.owner, own).refuse_unknown(())
    assert found.registry is not None
    of_values = AvroRows(columns, found.registry, found.subject(topic), record_name(found.message or f"{topic}_value"))
    if not key:
        return None, of_values
    name = record_name(key_message or f"{topic}_key")
    return AvroRows(key, found.registry, found.key_subject(topic, key_message), name), of_values
