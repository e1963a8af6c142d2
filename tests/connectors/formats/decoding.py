"""Messages of a test through a decoder: formats with schemas, and what comes out."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from risingpy.connectors.formats.choice import decoder_of
from risingpy.connectors.formats.decoder import Decoded, MessageFormat
from risingpy.connectors.formats.source_schema import with_schema
from risingpy.types import BIGINT, VARCHAR, SqlType
from tests.connectors.systems.schema_registry import Registry

Columns = Sequence[tuple[str, SqlType]]
USER = {
    "type": "record",
    "name": "User",
    "namespace": "shop",
    "fields": [{"name": "id", "type": "long"}, {"name": "name", "type": ["null", "string"]}],
}
ENVELOPE = {
    "type": "record",
    "name": "Envelope",
    "fields": [
        {"name": "before", "type": ["null", USER], "default": None},
        {"name": "after", "type": ["null", "shop.User"], "default": None},
        {"name": "source", "type": {"type": "record", "name": "Source", "fields": [{"name": "lsn", "type": "long"}]}},
        {"name": "op", "type": "string"},
    ],
}
IDS: Columns = (("id", BIGINT), ("name", VARCHAR))


def located(schema: Any, row_format: str = "plain", **options: str) -> MessageFormat:
    text = json.dumps([json.dumps(schema)])
    chosen = (("schema.location", "file:///s.avsc"), ("schema.text", text), *options.items())
    return MessageFormat(row_format, "avro", chosen)


def registered(registry: Registry, row_format: str = "plain", **options: str) -> MessageFormat:
    asked = MessageFormat(row_format, "avro", (("schema.registry", registry.address), *options.items()))
    return with_schema(asked, {"topic": "t"})


def decode(
    message_format: MessageFormat,
    columns: Columns,
    payloads: Sequence[bytes | None],
    keys: Sequence[bytes | None] | None = None,
    key_columns: Sequence[str] = (),
) -> Decoded:
    found = keys or [None] * len(payloads)
    table = pa.table({"key": pa.array(found, pa.binary()), "payload": pa.array(payloads, pa.binary())})
    return decoder_of(message_format, columns, key_columns).decode(table)


def rows_of(decoded: Decoded) -> list[tuple[Any, ...]]:
    return list(zip(*(column.to_pylist() for column in decoded.columns), strict=True))


def changes(decoded: Decoded) -> list[tuple[int, tuple[Any, ...]]]:
    return list(zip(decoded.ops.to_pylist(), rows_of(decoded), strict=True))


def reasons(decoded: Decoded) -> dict[int, str]:
    return {bad.index: bad.reason for bad in decoded.bad}
