"""CONNECTION and SECRET with a real broker and registry: what names them works, and goes on when they change."""

from __future__ import annotations

import json
import struct

import pytest

from risingpy.errors import SqlError
from tests.connectors.kafka.topics import Topic
from tests.connectors.systems.kafka import KafkaBroker
from tests.connectors.systems.schema_registry import schema_registry
from tests.meta.conftest import Server


def test_a_source_and_a_sink_share_a_connection(server: Server, kafka_broker: KafkaBroker) -> None:
    client, topic, out = server.client(), Topic(kafka_broker), Topic(kafka_broker)
    client.run(f"CREATE SECRET broker WITH (backend = 'meta') AS '{kafka_broker.address}'")
    client.run("CREATE CONNECTION c WITH (type = 'kafka', properties.bootstrap.server = SECRET broker)")
    client.run(
        f"CREATE TABLE t (id int) WITH (connector = 'kafka', connection = c, topic = '{topic.name}')"
        " FORMAT PLAIN ENCODE JSON"
    )
    client.run(
        f"CREATE SINK k FROM t WITH (connector = 'kafka', connection = c, topic = '{out.name}', type = 'append-only',"
        " force_append_only = 'true') FORMAT PLAIN ENCODE JSON"
    )
    topic.write(['{"id": 1}'])
    assert client.run("FLUSH; SELECT id FROM t") == [(1,)]
    client.run("WAIT SINK k")
    assert [json.loads(value or b"") for _, value in out.read_all()] == [{"id": 1}]
    with pytest.raises(SqlError, match="does not answer"):
        client.run("ALTER CONNECTION c CONNECTOR WITH (properties.bootstrap.server = '127.0.0.1:1')")
    client.run(f"ALTER CONNECTION c CONNECTOR WITH (properties.bootstrap.server = '{kafka_broker.address}')")
    client.run("DROP SECRET broker")
    topic.write(['{"id": 2}'])
    assert client.run("FLUSH; SELECT id FROM t ORDER BY id") == [(1,), (2,)]
    with pytest.raises(SqlError) as caught:
        client.run("DROP CONNECTION c")
    assert caught.value.detail == "table t depends on connection c\nsink k depends on connection c"
    server.restart()
    client = server.client()
    topic.write(['{"id": 3}'])
    assert client.run("FLUSH; SELECT count(*) FROM t") == [(3,)]
    client.run("DROP CONNECTION c CASCADE")
    assert client.run("SHOW TABLES") == []


def test_a_broker_that_moves(server: Server, kafka_broker: KafkaBroker) -> None:
    """The source stands still with a wrong address, and goes on where it was with the right one."""
    client, topic = server.client(), Topic(kafka_broker)
    client.run(f"CREATE SECRET broker WITH (backend = 'meta') AS '{kafka_broker.address}'")
    client.run(
        f"CREATE TABLE t (id int) WITH (connector = 'kafka', properties.bootstrap.server = SECRET broker,"
        f" topic = '{topic.name}') FORMAT PLAIN ENCODE JSON"
    )
    topic.write(['{"id": 1}'])
    assert client.run("FLUSH; SELECT id FROM t") == [(1,)]
    client.run("ALTER SECRET broker AS '127.0.0.1:1'")
    topic.write(['{"id": 2}'])
    client.run(f"ALTER TABLE t CONNECTOR WITH (properties.bootstrap.server = '{kafka_broker.address}')")
    assert client.run("FLUSH; SELECT id FROM t ORDER BY id") == [(1,), (2,)]
    assert kafka_broker.address in str(client.run("SHOW CREATE TABLE t"))
    with pytest.raises(SqlError, match='option "topic" of a source cannot be changed'):
        client.run("ALTER TABLE t CONNECTOR WITH (topic = 'x')")


def test_a_registry_with_a_password(server: Server, kafka_broker: KafkaBroker) -> None:
    client, topic = server.client(), Topic(kafka_broker)
    schema = {"type": "record", "name": "r", "fields": [{"name": "id", "type": "int"}]}
    with schema_registry(password="hunter2") as registry:
        schema_id = registry.register(f"{topic.name}-value", schema)
        client.run("CREATE SECRET pw WITH (backend = 'meta') AS 'wrong-word'")
        options = f"schema.registry = '{registry.address}', schema.registry.username = 'reader'"
        create = f"CREATE CONNECTION r WITH (type = 'schema_registry', {options}, schema.registry.password = SECRET pw)"
        with pytest.raises(SqlError, match="HTTP status 401") as caught:
            client.run(create)
        assert "wrong-word" not in caught.value.told
        client.run("ALTER SECRET pw AS 'hunter2'")
        client.run(create)
        client.run(
            f"CREATE TABLE t (*) WITH (connector = 'kafka', topic = '{topic.name}',"
            f" properties.bootstrap.server = '{kafka_broker.address}') FORMAT PLAIN ENCODE AVRO (connection = r)"
        )
        topic.write([_framed(schema_id, 7)])
        assert client.run("FLUSH; SELECT id FROM t") == [(7,)]
        client.run("ALTER TABLE t REFRESH SCHEMA")
        server.restart()
        topic.write([_framed(schema_id, 8)])
        assert server.client().run("FLUSH; SELECT id FROM t ORDER BY id") == [(7,), (8,)]


def _framed(schema_id: int, number: int) -> bytes:
    """A record of one int (below 64) as Confluent's serializers write it."""
    return b"\0" + struct.pack(">I", schema_id) + bytes([2 * number])
