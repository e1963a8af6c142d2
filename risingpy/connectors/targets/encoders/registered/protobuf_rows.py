"""Rows as messages of Protobuf. With a registry, the id of the schema and the message's place in it come before:

    0 | id, 4 bytes, big-endian | the number of indexes, and they, as zigzag varints (0: the first message) | message

The message and its fields must exist, in the registry's latest schema of the topic or in a file of descriptors.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from google.protobuf.descriptor_pb2 import FileDescriptorProto

from risingpy.connectors.formats.protobuf.descriptors import message_class, set_of_file, set_of_registry
from risingpy.connectors.formats.schema_options import SchemaOptions, at_location
from risingpy.connectors.targets.encoders.registered.protobuf_bytes import ProtobufColumn, fields_of, message
from risingpy.connectors.targets.encoders.registered.wire_bytes import joined, varints, zigzag
from risingpy.errors import InvalidParameterValue, SourceUnavailable, TargetUnavailable
from risingpy.types import SqlType


@dataclass(frozen=True, slots=True)
class _KnownMessage:
    """The bytes before each message, and the fields that the columns are."""

    header: pa.Scalar
    fields: Sequence[ProtobufColumn]


class ProtobufRows:
    """A `RowTexts` of messages. The schema is read when the first rows are written, or none."""

    def __init__(self, columns: Sequence[tuple[str, SqlType]], found: SchemaOptions, topic: str) -> None:
        """`found` names a message. Nothing is connected, and no file is read."""
        self._columns = columns
        self._found = found
        self._topic = topic
        self._ready: _KnownMessage | None = None

    def rows(self, arrays: Sequence[pa.Array]) -> pa.Array:
        """Raises TargetUnavailable if the registry does not answer, SqlError if the message cannot take the columns."""
        ready = self._ready = self._ready or self._read()
        return joined([ready.header, message(ready.fields, arrays, len(arrays[0]))])

    def _read(self) -> _KnownMessage:
        found, header = self._found, b""
        assert found.message is not None
        try:
            if found.registry is None:
                descriptor = message_class(set_of_file(at_location(found.location or "")), found.message).DESCRIPTOR
            else:
                registered = found.registered(self._topic, serialized=True)
                if registered.kind != "PROTOBUF" or registered.schema_id is None:
                    kind = f"the latest schema of the topic is of type {registered.kind}, not PROTOBUF"
                    raise InvalidParameterValue(kind)
                descriptor = message_class(set_of_registry(registered), found.message).DESCRIPTOR
                header = struct.pack(">bI", 0, registered.schema_id) + _place(descriptor)
        except SourceUnavailable as error:
            raise TargetUnavailable(error.message) from None
        fields = fields_of(descriptor, self._columns)
        for field in fields:
            field.check()
        return _KnownMessage(pa.scalar(header, pa.binary()), fields)


def _place(descriptor: Any) -> bytes:
    """The indexes of the message and of those around it in their file."""
    indexes: list[int] = []
    while (around := descriptor.containing_type) is not None:
        indexes.insert(0, [each.name for each in around.nested_types].index(descriptor.name))
        descriptor = around
    file = FileDescriptorProto()
    descriptor.file.CopyToProto(file)
    indexes.insert(0, [each.name for each in file.message_type].index(descriptor.name))
    if indexes == [0]:
        return b"\0"
    return b"".join(varints(zigzag(np.array([len(indexes), *indexes], np.int64))).to_pylist())
