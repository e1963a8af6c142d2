"""Sinks of AVRO and PROTOBUF to a real broker: our own table of the same topic has the sink's rows, through changes."""

from __future__ import annotations

import base64
from collections.abc import Iterator

import pytest

from risingpy.errors import SqlError, TargetUnavailable
from tests.connectors.kafka.topics import Topic
from tests.connectors.systems.kafka import KafkaBroker
from tests.connectors.systems.schema_registry import Registry, schema_registry
from tests.meta.conftest import Client, Server


@pytest.fixture
def registry() -> Iterator[Registry]:
    with schema_registry() as started:
        yield started


def sink(topic: Topic, encoding: str, options: str, more: str = "") -> str:
    named = ", ".join(f"{key} = '{value}'" for key, value in topic.options().items())
    made = f"CREATE SINK out FROM m WITH ({named}, primary_key = 'customer')"
    return f"{made} FORMAT UPSERT ENCODE {encoding} ({options}) {more}"


def table(topic: Topic, encoding: str, options: str, columns: str) -> str:
    named = ", ".join(f"{key} = '{value}'" for key, value in topic.options().items())
    return f"CREATE TABLE back ({columns}) WITH ({named}) FORMAT UPSERT ENCODE {encoding} ({options})"


def start(server: Server) -> Client:
    client = server.client()
    client.run(
        "CREATE TABLE t (id INT PRIMARY KEY, customer VARCHAR, amount NUMERIC(10,2), at TIMESTAMPTZ);"
        "CREATE MATERIALIZED VIEW m AS SELECT customer, count(*) AS n, max(amount) AS most, max(at) AS last,"
        " array_agg(id ORDER BY id) AS ids FROM t GROUP BY customer;"
        "INSERT INTO t VALUES (1, 'ann', 1.50, '2026-01-02 03:04:05.000006+00'), (2, 'bob', NULL, NULL);"
        "INSERT INTO t VALUES (3, 'ann', 2, NULL)"
    )
    return client


def change(server: Server, client: Client) -> Client:
    """Rows of every kind of change, with a restart between them."""
    client.run("WAIT SINK out; INSERT INTO t VALUES (4, 'eve', -0.01, '1969-12-31 23:59:59.9+00'); WAIT SINK out")
    server.restart()
    client = server.client()
    client.run("UPDATE t SET amount = 7 WHERE id = 1; DELETE FROM t WHERE id = 2; WAIT SINK out; FLUSH")
    return client


@pytest.mark.on_spark
def test_avro_comes_back(server: Server, kafka_broker: KafkaBroker, registry: Registry) -> None:
    topic, client = Topic(kafka_broker), start(server)
    options = f"schema.registry = '{registry.address}'"
    client.run(sink(topic, "AVRO", options))
    assert sorted(registry.subjects) == [f"{topic.name}-key", f"{topic.name}-value"]
    client.run(table(topic, "AVRO", options, "*, PRIMARY KEY (customer)"))
    client = change(server, client)
    query = "SELECT customer, n, most::varchar, last, ids FROM {} ORDER BY customer"
    assert client.run(query.format("back")) == client.run(query.format("m")) != []
    assert [len(versions) for versions in registry.subjects.values()] == [1, 1]


def test_protobuf_comes_back(server: Server, kafka_broker: KafkaBroker, registry: Registry) -> None:
    descriptor = pytest.importorskip("google.protobuf.descriptor_pb2", reason="protobuf is not installed")
    file = descriptor.FileDescriptorProto(name="m.proto", package="shop", syntax="proto3",
                                          dependency=["google/protobuf/timestamp.proto"])  # fmt: skip
    message = file.message_type.add(name="Spent")
    kinds = descriptor.FieldDescriptorProto
    for number, (name, kind) in enumerate(
        (("customer", kinds.TYPE_STRING), ("n", kinds.TYPE_SINT64), ("most", kinds.TYPE_STRING)), 1
    ):
        message.field.add(name=name, number=number, type=kind, label=kinds.LABEL_OPTIONAL)
    message.field.add(name="last", number=9, type=kinds.TYPE_MESSAGE, type_name=".google.protobuf.Timestamp",
                      label=kinds.LABEL_OPTIONAL)  # fmt: skip
    message.field.add(name="ids", number=10, type=kinds.TYPE_INT32, label=kinds.LABEL_REPEATED)
    topic, client = Topic(kafka_broker), start(server)
    registry.register(f"{topic.name}-value", base64.b64encode(file.SerializeToString()).decode(), "PROTOBUF")
    options = f"schema.registry = '{registry.address}', message = 'shop.Spent'"
    client.run(sink(topic, "PROTOBUF", options, "KEY ENCODE TEXT"))
    client.run(table(topic, "PROTOBUF", options, "*, PRIMARY KEY (customer)"))
    client = change(server, client)
    query = "SELECT customer, n, {}, last, ids FROM {} ORDER BY customer"
    shown = query.format("coalesce(most::varchar, '')", "m")  # a text that is not set is empty
    assert client.run(query.format("most", "back")) == client.run(shown) != []


def test_a_registry_that_is_away_is_waited_for(server: Server, kafka_broker: KafkaBroker, registry: Registry) -> None:
    topic, client = Topic(kafka_broker), start(server)
    options = f"schema.registry = '{registry.address}'"
    registry.is_down = True
    with pytest.raises(TargetUnavailable, match="schema registry does not answer"):
        client.run(sink(topic, "AVRO", options))
    registry.is_down = False
    registry.register(f"{topic.name}-value", {"type": "record", "name": "R", "fields": []})
    with pytest.raises(SqlError, match='column "customer" is not in the Avro schema'):
        client.run(sink(topic, "AVRO", options))
    assert client.run("SHOW SINKS") == []
    registry.subjects.clear()
    client.run(sink(topic, "AVRO", options))
    client.run("WAIT SINK out")
    server.stop()
    registry.is_down = True
    server.start()
    client = server.client()
    client.run("DELETE FROM t WHERE id = 2; FLUSH")
    registry.is_down = False
    client.run("WAIT SINK out")
    assert topic.read_all()[-1][1] is None
