"""CREATE SOURCE of Avro messages in Kafka: its columns come from a registry, and its schema evolves."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from risingpy.errors import SqlError
from tests.connectors.kafka.topics import Topic
from tests.connectors.systems.kafka import KafkaBroker
from tests.connectors.systems.schema_registry import Registry, schema_registry
from tests.meta.conftest import Server

avro_values = pytest.importorskip("tests.connectors.formats.avro_values", reason="fastavro is not installed")

FIRST = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "Price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {
            "name": "items",
            "type": {
                "type": "array",
                "items": {"type": "record", "name": "I", "fields": [{"name": "q", "type": "int"}]},
            },
        },
        {"name": "labels", "type": {"type": "map", "values": "string"}},
    ],
}
SECOND = {**FIRST, "fields": [{"name": "note", "type": ["null", "string"], "default": None}, *FIRST["fields"]]}


@pytest.fixture
def registry() -> Iterator[Registry]:
    with schema_registry(password="s3cret") as found:
        yield found


def encode(registry: Registry, kind: str = "PLAIN") -> str:
    options = f"schema.registry = '{registry.address}', schema.registry.username = 'reader'"
    return f"FORMAT {kind} ENCODE AVRO ({options}, schema.registry.password = 's3cret')"


def order(schema: object, schema_id: int, k: int, **more: object) -> bytes:
    from datetime import UTC, datetime
    from decimal import Decimal

    row = {"id": k, "Price": Decimal(k) / 4, "at": datetime(2026, 1, 2, 3, 4, k % 60, tzinfo=UTC), "items": [{"q": k}]}
    found: bytes = avro_values.encoded(schema, {**row, "labels": {"a": f"x{k}"}, **more}, schema_id)
    return found


@pytest.mark.on_spark
def test_columns_come_from_the_registry(server: Server, kafka_broker: KafkaBroker, registry: Registry) -> None:
    topic = Topic(kafka_broker)
    first = registry.register(f"{topic.name}-value", FIRST)
    client = server.client()
    client.run(topic.source("s", "(*, double_id BIGINT AS (id * 2)) INCLUDE offset AS o", encode(registry)))
    client.run('CREATE MATERIALIZED VIEW v AS SELECT id, double_id, "Price", at, items, labels, o FROM s')
    topic.write([order(FIRST, first, 1), order(FIRST, first, 2)])
    second = registry.register(f"{topic.name}-value", SECOND)
    topic.write([order(SECOND, second, 3, note="n"), b"\0\0\0\0\x63?"])
    client.run("FLUSH")
    shown = "SELECT id, double_id, \"Price\"::varchar, at::varchar, (items[1]).q, labels['a'], o FROM v ORDER BY id"
    assert client.run(shown) == [
        (k, 2 * k, f"{k / 4:.2f}", f"2026-01-02 03:04:0{k}+00", k, f"x{k}", str(k - 1)) for k in (1, 2, 3)
    ]
    (error,) = client.run("SELECT DISTINCT reason FROM rw_source_errors")
    assert error == ("the schema registry has no schema 99",)
    server.restart()
    client = server.client()
    topic.write([order(FIRST, first, 4)])
    client.run("FLUSH")
    assert client.run("SELECT count(*), sum(id) FROM v") == [(4, 10)]
    ((shown,),) = client.run("SELECT definition FROM rw_sources WHERE name = 's'")
    assert "s3cret" not in shown and "schema.registry.password = '***'" in shown


def test_nothing_is_lost_while_the_registry_is_away(
    server: Server, kafka_broker: KafkaBroker, registry: Registry
) -> None:
    """Messages of a new schema wait for the registry, and a table beside them does not."""
    topic = Topic(kafka_broker)
    first = registry.register(f"{topic.name}-value", FIRST)
    client = server.client()
    client.run(topic.source("s", "(*)", encode(registry)))
    client.run("CREATE MATERIALIZED VIEW v AS SELECT id FROM s; CREATE TABLE t (a INT)")
    topic.write([order(FIRST, first, 1)])
    client.run("FLUSH")
    assert client.run("SELECT id FROM v") == [(1,)]
    second = registry.register(f"{topic.name}-value", SECOND)
    registry.is_down = True
    topic.write([order(SECOND, second, 2, note="n"), order(FIRST, first, 3)])
    client.run("INSERT INTO t VALUES (1)")

    def wait_for(expected: tuple[int, int]) -> None:
        deadline = time.monotonic() + 30
        while client.run("SELECT (SELECT count(*) FROM t), (SELECT count(*) FROM v)") != [expected]:
            assert time.monotonic() < deadline
            time.sleep(0.05)

    wait_for((1, 1))
    registry.is_down = False
    wait_for((1, 3))
    assert client.run("SELECT count(*) FROM rw_source_errors") == [(0,)]


def test_what_a_registry_or_a_file_refuses(
    server: Server, kafka_broker: KafkaBroker, registry: Registry, tmp_path: Path
) -> None:
    topic = Topic(kafka_broker)
    client = server.client()

    def message(columns: str, encoding: str) -> str:
        with pytest.raises(SqlError) as error:
            client.run(topic.source("s", columns, encoding))
        return str(error.value)

    assert message("(*)", encode(registry)) == f'the schema registry has no subject "{topic.name}-value"'
    assert message("(*)", "FORMAT PLAIN ENCODE JSON") == "ENCODE JSON has no schema: name the columns"
    assert message("", "FORMAT PLAIN ENCODE AVRO") == "ENCODE needs either schema.registry or schema.location"
    gone = encode(registry).replace(registry.address, "http://127.0.0.1:9")
    assert message("(*)", gone).startswith("the schema registry does not answer: http://127.0.0.1:9")
    registry.register(f"{topic.name}-value", FIRST)
    assert message("", encode(registry, "UPSERT")) == "FORMAT UPSERT needs a table with a primary key"
    assert message("(*, id INT)", encode(registry)) == 'column "id" specified more than once'
    assert client.run("SELECT count(*) FROM rw_sources") == [(0,)]
