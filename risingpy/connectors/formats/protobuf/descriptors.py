"""Protobuf's descriptors: what a message holds, and the SQL types of that, as in RisingWave."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError

from risingpy.connectors.formats.schema_registry import RegisteredSchema
from risingpy.errors import FeatureNotSupported, InvalidParameterValue
from risingpy.types import (
    BIGINT,
    BOOLEAN,
    BYTEA,
    DOUBLE,
    INTEGER,
    JSONB,
    REAL,
    TIMESTAMPTZ,
    VARCHAR,
    SqlType,
    array_of,
    map_of,
    struct_of,
)
from risingpy.types import NUMERIC as NUMERIC_TYPE

TIMESTAMP = "google.protobuf.Timestamp"
_WELL_KNOWN = "google/protobuf/"
_SCALARS = {
    FieldDescriptor.TYPE_DOUBLE: DOUBLE,
    FieldDescriptor.TYPE_FLOAT: REAL,
    FieldDescriptor.TYPE_INT32: INTEGER,
    FieldDescriptor.TYPE_SINT32: INTEGER,
    FieldDescriptor.TYPE_SFIXED32: INTEGER,
    FieldDescriptor.TYPE_INT64: BIGINT,
    FieldDescriptor.TYPE_SINT64: BIGINT,
    FieldDescriptor.TYPE_SFIXED64: BIGINT,
    FieldDescriptor.TYPE_UINT32: BIGINT,
    FieldDescriptor.TYPE_FIXED32: BIGINT,
    FieldDescriptor.TYPE_UINT64: NUMERIC_TYPE,
    FieldDescriptor.TYPE_FIXED64: NUMERIC_TYPE,
    FieldDescriptor.TYPE_BOOL: BOOLEAN,
    FieldDescriptor.TYPE_STRING: VARCHAR,
    FieldDescriptor.TYPE_BYTES: BYTEA,
    FieldDescriptor.TYPE_ENUM: VARCHAR,
}


def set_of_file(data: bytes) -> str:
    """A set of descriptors (`protoc --include_imports --descriptor_set_out`) as text to be kept."""
    try:
        found = descriptor_pb2.FileDescriptorSet.FromString(data)
    except DecodeError as error:
        raise InvalidParameterValue(f"the schema is no set of Protobuf descriptors: {error}") from error
    if not found.file:
        raise InvalidParameterValue("the schema has no Protobuf descriptors")
    return base64.b64encode(data).decode()


def set_of_registry(registered: RegisteredSchema) -> str:
    """The descriptors of a schema and of what it imports, as text to be kept."""
    found = descriptor_pb2.FileDescriptorSet()
    for name, text in (*registered.references, ("", registered.text)):
        try:
            file = descriptor_pb2.FileDescriptorProto.FromString(base64.b64decode(text, validate=True))
        except (binascii.Error, DecodeError) as error:
            hint = "Make them with protoc --include_imports --descriptor_set_out, and name the file: schema.location."
            raise FeatureNotSupported("the schema registry does not give Protobuf's descriptors", hint=hint) from error
        file.name = name or file.name or "schema.proto"
        found.file.append(file)
    return base64.b64encode(found.SerializeToString()).decode()


def message_class(text: str, name: str) -> Any:
    """The class of the message of that full name. Raises InvalidParameterValue if there is none."""
    files = descriptor_pb2.FileDescriptorSet.FromString(base64.b64decode(text)).file
    pool = descriptor_pool.DescriptorPool()
    by_name = {file.name: file for file in files}
    added: set[str] = set()

    def add(file_name: str) -> None:
        if file_name in added:
            return
        added.add(file_name)
        file = by_name.get(file_name)
        if file is None:
            file = _well_known(file_name)
        for needed in file.dependency:
            add(needed)
        pool.Add(file)

    for file in files:
        add(file.name)
    try:
        descriptor = pool.FindMessageTypeByName(name)
    except (KeyError, TypeError) as error:
        raise InvalidParameterValue(f'the schema has no Protobuf message "{name}"') from error
    return message_factory.GetMessageClass(descriptor)


def _well_known(name: str) -> Any:
    """Google's own files, which a set of descriptors need not have."""
    if name.startswith(_WELL_KNOWN):
        module = name.removeprefix(_WELL_KNOWN).removesuffix(".proto")
        try:
            imported = __import__(f"google.protobuf.{module}_pb2", fromlist=["DESCRIPTOR"])
        except ImportError:
            imported = None
        if imported is not None:
            file = descriptor_pb2.FileDescriptorProto()
            imported.DESCRIPTOR.CopyToProto(file)
            return file
    hint = "protoc --include_imports puts in what a file imports."
    raise InvalidParameterValue(f'the schema imports "{name}", which it does not have', hint=hint)


def is_map(field: Any) -> bool:
    """Whether a repeated field is a map."""
    return field.message_type is not None and bool(field.message_type.GetOptions().map_entry)


def columns_of(descriptor: Any, *, maps_as_jsonb: bool) -> list[tuple[str, SqlType]]:
    """Names and types of a message's fields. Raises FeatureNotSupported for a message that contains itself."""
    return [(field.name, _type(field, (descriptor.full_name,), maps_as_jsonb)) for field in descriptor.fields]


def _type(field: Any, inside: Sequence[str], maps_as_jsonb: bool) -> SqlType:
    if is_map(field):
        if maps_as_jsonb:
            return JSONB
        key, value = field.message_type.fields_by_number[1], field.message_type.fields_by_number[2]
        return map_of(_one_type(key, inside, maps_as_jsonb), _one_type(value, inside, maps_as_jsonb))
    one = _one_type(field, inside, maps_as_jsonb)
    return array_of(one) if field.is_repeated else one


def _one_type(field: Any, inside: Sequence[str], maps_as_jsonb: bool) -> SqlType:
    """The type of a single value of a field."""
    message = field.message_type
    if message is None:
        return _SCALARS[field.type]
    if message.full_name == TIMESTAMP:
        return TIMESTAMPTZ
    if message.full_name in inside:
        raise FeatureNotSupported(f'the Protobuf message "{message.full_name}" contains itself, which is not supported')
    types = [_type(each, (*inside, message.full_name), maps_as_jsonb) for each in message.fields]
    return struct_of([each.name for each in message.fields], types)
