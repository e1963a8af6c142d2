"""Avro with a schema registry: schemas evolve, and changes come as UPSERT and DEBEZIUM."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from risingpy.connectors.formats.choice import decoder_of
from risingpy.connectors.formats.decoder import MessageFormat
from risingpy.connectors.formats.source_schema import schema_columns, with_schema
from risingpy.errors import InvalidParameterValue, SourceUnavailable
from risingpy.types import BIGINT, BYTEA, DOUBLE, INTEGER, NUMERIC, VARCHAR
from risingpy.types.forms import text_column
from tests.connectors.formats.decoding import (
    ENVELOPE,
    IDS,
    USER,
    Columns,
    changes,
    decode,
    located,
    reasons,
    registered,
    rows_of,
)
from tests.connectors.systems.schema_registry import Registry, schema_registry

avro_values = pytest.importorskip("tests.connectors.formats.avro_values", reason="fastavro is not installed")


@pytest.fixture
def registry() -> Iterator[Registry]:
    with schema_registry() as found:
        yield found


def test_schemas_of_a_topic_evolve(registry: Registry) -> None:
    """Messages of three versions in one chunk, read by the columns of the latest."""
    fields = [{"name": "id", "type": "int"}, {"name": "old", "type": "string"}, {"name": "gone", "type": "long"}]
    first = {"type": "record", "name": "R", "fields": fields}
    second = {"type": "record", "name": "R", "fields": [fields[1], {"name": "id", "type": "long"}]}
    third = {
        "type": "record",
        "name": "R",
        "fields": [
            {"name": "id", "type": "long"},
            {"name": "name", "type": "string", "aliases": ["old"]},
            {"name": "score", "type": "double", "default": 1.5},
            {"name": "tags", "type": {"type": "array", "items": "string"}, "default": ["a"]},
            {"name": "labels", "type": {"type": "map", "values": "long"}, "default": {"x": 1}},
        ],
    }
    ids = [registry.register("t-value", schema) for schema in (first, second, third)]
    payloads = [
        avro_values.encoded(third, {"id": 3, "name": "c", "score": 2.5, "tags": [], "labels": {}}, ids[2]),
        avro_values.encoded(first, {"id": 1, "old": "a", "gone": 9}, ids[0]),
        avro_values.encoded(second, {"old": "b", "id": 2}, ids[1]),
        avro_values.encoded(first, {"id": 4, "old": "d", "gone": 9}, ids[0]),
        b"\0\0\0\0\x63rest",
        b"plain",
    ]
    message_format = registered(registry)
    columns = schema_columns(message_format)
    assert [name for name, _ in columns] == ["id", "name", "score", "tags", "labels"]
    decoder = decoder_of(message_format, columns, ())
    table = pa.table({"key": pa.nulls(6, pa.binary()), "payload": pa.array(payloads, pa.binary())})
    for _ in range(2):
        decoded = decoder.decode(table)
        assert rows_of(decoded) == [
            (3, "c", 2.5, [], []),
            (1, "a", 1.5, ["a"], [("x", 1)]),
            (2, "b", 1.5, ["a"], [("x", 1)]),
            (4, "d", 1.5, ["a"], [("x", 1)]),
        ]
        assert reasons(decoded) == {
            4: "the schema registry has no schema 99",
            5: "the message does not begin with 0 and the id of a schema",
        }
    assert [registry.asked.count(f"/schemas/ids/{schema_id}") for schema_id in ids] == [1, 1, 1]
    older: Columns = [("id", INTEGER), ("old", VARCHAR), ("score", NUMERIC)]
    decoded = decode(message_format, older, payloads[:3])
    assert [row[:2] for row in rows_of(decoded)] == [(3, "c"), (1, "a"), (2, "b")]
    assert text_column(NUMERIC, decoded.columns[2]).to_pylist() == ["2.5", "1.5", "1.5"]


def test_upserts(registry: Registry) -> None:
    key_schema = {"type": "record", "name": "K", "fields": [{"name": "id", "type": "long"}]}
    key_id = registry.register("t-key", key_schema)
    long_id = registry.register("other-key", '"long"')
    value_id = registry.register("t-value", USER)
    keys = [
        avro_values.encoded(key_schema, {"id": 1}, key_id),
        avro_values.encoded("long", 2, long_id),
        b"3",
        avro_values.encoded(key_schema, {"id": 1}, key_id),
        avro_values.encoded("long", 2, long_id),
        None,
        b"\0\0\0\0\x63\x02",
    ]
    rows = [{"id": k, "name": f"n{k}"} for k in (1, 2, 3)]
    payloads = [*(avro_values.encoded(USER, row, value_id) for row in rows), None, b"", None, None]
    decoded = decode(registered(registry, "upsert"), IDS, payloads, keys, ["id"])
    assert changes(decoded) == [(1, (1, "n1")), (1, (2, "n2")), (1, (3, "n3")), (-1, (1, None)), (-1, (2, None))]
    assert reasons(decoded) == {
        5: 'column "id" of the primary key is NULL',
        6: "the schema registry has no schema 99",
    }


@pytest.mark.parametrize("with_registry", [True, False])
def test_debezium(registry: Registry, with_registry: bool) -> None:
    schema_id = registry.register("t-value", ENVELOPE) if with_registry else None
    message_format = registered(registry, "debezium") if with_registry else located(ENVELOPE, "debezium")
    assert schema_columns(message_format) == list(IDS)

    def message(op: str, before: Any, after: Any) -> bytes:
        value = {"op": op, "before": before, "after": after, "source": {"lsn": 5}}
        found: bytes = avro_values.encoded(ENVELOPE, value, schema_id)
        return found

    one, two = {"id": 1, "name": "a"}, {"id": 2, "name": None}
    payloads = [
        message("c", None, one),
        message("r", None, {"id": 9, "name": "z"}),
        message("u", one, {"id": 1, "name": "b"}),
        message("u", one, two),
        message("d", two, None),
        None,
        message("t", None, None),
        message("c", None, one)[:-3],
    ]
    decoded = decode(message_format, IDS, payloads, key_columns=["id"])
    assert changes(decoded) == [
        (1, (1, "a")),
        (1, (9, "z")),
        (1, (1, "b")),
        (-1, (1, None)),
        (1, (2, None)),
        (-1, (2, None)),
    ]
    assert reasons(decoded).keys() == {6, 7}


@pytest.mark.parametrize("row_format", ["upsert", "debezium"])
def test_ten_thousand_mutated_messages(registry: Registry, row_format: str) -> None:
    damage = random.Random(7)
    schema = USER if row_format == "upsert" else ENVELOPE
    schema_id = registry.register("t-value", schema)
    payloads, keys = [], [str(k).encode() for k in range(20_000)]
    for k in range(20_000):
        row = {"id": k, "name": f"n{k}"}
        value = row if row_format == "upsert" else {"op": "c", "before": None, "after": row, "source": {"lsn": k}}
        payloads.append(avro_values.encoded(schema, value, schema_id))
    hurt = set(damage.sample(range(len(payloads)), 10_000))
    for k in hurt:
        cut = damage.randrange(len(payloads[k]))
        payloads[k] = payloads[k][:cut] + bytes([damage.randrange(256)]) + payloads[k][cut + damage.randrange(3) :]
    begin = time.monotonic()
    decoded = decode(registered(registry, row_format), IDS, payloads, keys, ["id"])
    assert time.monotonic() - begin < 20
    assert set(reasons(decoded)) <= hurt
    found = dict(zip(decoded.messages.to_pylist(), changes(decoded), strict=True))
    assert all(found[k] == (1, (k, f"n{k}")) for k in range(len(payloads)) if k not in hurt)


def test_named_types_of_other_subjects(registry: Registry) -> None:
    registry.register("users", USER)
    schema = {"type": "record", "name": "R", "fields": [{"name": "u", "type": "shop.User"}]}
    reference = {"name": "shop.User", "subject": "users", "version": 1}
    schema_id = registry.register("t-value", schema, references=[reference])
    message_format = registered(registry)
    payload = avro_values.encoded(
        {"type": "record", "name": "R", "fields": [{"name": "u", "type": USER}]},
        {"u": {"id": 1, "name": "a"}},
        schema_id,
    )
    decoded = decode(message_format, schema_columns(message_format), [payload])
    assert rows_of(decoded) == [({"id": 1, "name": "a"},)]


def test_a_registry_with_a_password() -> None:
    with schema_registry(password="s3cret") as registry:
        registry.register("t-value", USER)
        options = {"schema.registry.username": "reader", "schema.registry.password": "s3cret"}
        assert schema_columns(registered(registry, **options)) == list(IDS)
        with pytest.raises(SourceUnavailable, match="HTTP status 401"):
            registered(registry)


def test_a_registry_that_is_gone(registry: Registry) -> None:
    schema_id = registry.register("t-value", USER)
    message_format = registered(registry)
    gone = MessageFormat("plain", "avro", (("schema.registry", "http://127.0.0.1:9"), *message_format.options[1:]))
    payload = avro_values.encoded(USER, {"id": 1, "name": "a"}, schema_id)
    with pytest.raises(SourceUnavailable, match="does not answer"):
        decode(gone, IDS, [payload])
    both = f"http://127.0.0.1:9,{registry.address}"
    other = MessageFormat("plain", "avro", (("schema.registry", both), *message_format.options[1:]))
    assert rows_of(decode(other, IDS, [payload])) == [(1, "a")]


def test_a_schema_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "user.avsc"
    path.write_text(json.dumps(USER))
    message_format = with_schema(MessageFormat("plain", "avro", (("schema.location", f"file://{path}"),)), {})
    path.unlink()  # what the source means is kept with it
    payload = avro_values.encoded(USER, {"id": 1, "name": "a"})
    assert rows_of(decode(message_format, schema_columns(message_format), [payload])) == [(1, "a")]
    with pytest.raises(InvalidParameterValue, match="cannot be read"):
        with_schema(MessageFormat("plain", "avro", (("schema.location", str(path)),)), {})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "ENCODE needs either schema.registry or schema.location"),
        ({"schema.registry": "localhost:8081"}, 'invalid schema.registry "localhost:8081"'),
        ({"schema.registry": "http://h", "x": "1"}, 'unknown option "x" of ENCODE AVRO'),
        ({"schema.registry": "http://h", "map.handling.mode": "x"}, 'invalid map.handling.mode "x"'),
    ],
)
def test_options_that_are_refused(options: dict[str, str], message: str) -> None:
    text = ("schema.text", json.dumps([json.dumps(USER)]))
    chosen = MessageFormat("plain", "avro", (*options.items(), *([text] if options else [])))
    with pytest.raises(InvalidParameterValue, match=message):
        decoder_of(chosen, [("id", BIGINT), ("b", BYTEA), ("d", DOUBLE)], ())
