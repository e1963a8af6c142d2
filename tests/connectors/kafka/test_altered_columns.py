"""ALTER SOURCE … ADD COLUMN, ALTER TABLE of a table that a source feeds, and REFRESH SCHEMA."""

from __future__ import annotations

import pytest

from risingpy.errors import DuplicateColumn, FeatureNotSupported, SqlError, WrongObjectType
from tests.connectors.kafka.test_avro_source import avro_values, encode, registry
from tests.connectors.kafka.test_fed_tables import rows, table
from tests.connectors.kafka.topics import Topic
from tests.connectors.systems.kafka import KafkaBroker
from tests.connectors.systems.schema_registry import Registry
from tests.meta.conftest import Server

__all__ = ["registry"]


@pytest.mark.on_spark
def test_a_source_gets_a_column(server: Server, kafka_broker: KafkaBroker) -> None:
    topic, client = Topic(kafka_broker, 2), server.client()
    topic.write(rows(1, v=10))
    client.run(topic.source("s", "(id BIGINT, twice BIGINT AS (id * 2)) INCLUDE OFFSET AS place"))
    client.run("CREATE MATERIALIZED VIEW before AS SELECT count(*) AS n, sum(twice) AS twice, max(place) AS p FROM s")
    client.run("CREATE VIEW plain AS SELECT id, twice FROM s; CREATE MATERIALIZED VIEW ids AS SELECT * FROM s")
    client.run("ALTER SOURCE s ADD COLUMN v INT")
    topic.write(rows(2, v=20))
    client.run("CREATE MATERIALIZED VIEW after AS SELECT id, v, twice FROM s; FLUSH")
    assert client.run("SELECT * FROM before") == [(2, 6, "1")]
    assert sorted(client.run("SELECT * FROM ids")) == [(1, 2, "0"), (2, 4, "1")]
    assert sorted(client.run("SELECT * FROM after")) == [(1, 10, 2), (2, 20, 4)]
    client.run("CREATE MATERIALIZED VIEW of_plain AS SELECT * FROM plain; FLUSH")
    assert sorted(client.run("SELECT * FROM of_plain")) == [(1, 2), (2, 4)]
    client.run("ALTER SOURCE s ADD IF NOT EXISTS v INT")
    assert "twice BIGINT AS (id * 2), v integer) INCLUDE" in client.run("SHOW CREATE SOURCE s")[0][1]
    server.restart()
    client = server.client()
    topic.write(rows(3, v=30))
    client.run("FLUSH")
    assert client.run("SELECT n FROM before") == [(3,)]
    assert client.run("SELECT sum(v), count(*) FROM after") == [(60, 3)]
    client.run("DROP SOURCE s CASCADE")


@pytest.mark.parametrize(
    ("statement", "error", "message"),
    [
        ("ALTER SOURCE s ADD COLUMN id INT", DuplicateColumn, 'column "id" of relation "s" already exists'),
        ("ALTER SOURCE s ADD COLUMN v nosuch", SqlError, 'type "nosuch" does not exist'),
        ("ALTER SOURCE s ADD COLUMN v INT NOT NULL", FeatureNotSupported, "takes a name and a type"),
        ("ALTER SOURCE s ADD COLUMN v INT AS (id * 2)", FeatureNotSupported, "takes a name and a type"),
        ("ALTER SOURCE t ADD COLUMN v INT", WrongObjectType, '"t" is not a source'),
        ("ALTER SOURCE nosuch ADD COLUMN v INT", SqlError, 'relation "nosuch" does not exist'),
        ("ALTER SOURCE s REFRESH SCHEMA", FeatureNotSupported, "AVRO and PROTOBUF"),
        ("ALTER TABLE t REFRESH SCHEMA", WrongObjectType, '"t" is not a source'),
        ("ALTER SOURCE s DROP COLUMN id", FeatureNotSupported, "ALTER SOURCE … DROP"),
    ],
)
def test_what_cannot_be(
    server: Server, kafka_broker: KafkaBroker, statement: str, error: type[SqlError], message: str
) -> None:
    client = server.client()
    client.run(Topic(kafka_broker).source("s", "(id BIGINT)"))
    client.run("CREATE TABLE t (id INT)")
    with pytest.raises(error, match=message) as caught:
        client.run(statement)
    assert caught.value.position is not None or "exist" in message


@pytest.mark.on_spark
@pytest.mark.parametrize("key", ["", " PRIMARY KEY"])
def test_a_fed_table_is_altered(server: Server, kafka_broker: KafkaBroker, key: str) -> None:
    topic, client = Topic(kafka_broker, 2), server.client()
    topic.write(rows(1, v=10, w="x"))
    client.run(table(topic, "t", f"(id BIGINT{key}, w VARCHAR) INCLUDE KEY AS k"))
    client.run("CREATE MATERIALIZED VIEW m AS SELECT id FROM t; FLUSH")
    client.run("ALTER TABLE t ADD COLUMN v INT")
    topic.write(rows(2, v=20, w="y"), key="two")
    client.run("FLUSH; INSERT INTO t VALUES (3, 'z', NULL, 30)")
    assert sorted(client.run("SELECT id, w, k, v FROM t")) == [
        (1, "x", None, None),
        (2, "y", b"two", 20),
        (3, "z", None, 30),
    ]
    client.run("ALTER TABLE t DROP COLUMN w, ALTER COLUMN v TYPE VARCHAR")
    topic.write(rows(4, v="forty"))
    client.run("FLUSH")
    assert sorted(client.run("SELECT id, v FROM t")) == [(1, None), (2, "20"), (3, "30"), (4, "forty")]
    ((shown,),) = client.run("SELECT definition FROM rw_catalog.rw_tables WHERE name = 't'")
    assert "v character varying" in shown and "INCLUDE KEY AS k" in shown and topic.name in shown
    for statement in ("RENAME COLUMN v TO u", "DROP COLUMN k"):
        with pytest.raises(FeatureNotSupported, match="messages"):
            client.run(f"ALTER TABLE t {statement}")
    server.restart()
    client = server.client()
    topic.write(rows(5, v="fifty"))
    client.run("FLUSH; ALTER TABLE t SET source_rate_limit = 1000")
    assert client.run("SELECT v FROM t WHERE id = 5") == [("fifty",)]
    assert client.run("SELECT count(*), sum(id) FROM m") == [(5, 15)]


def test_the_schema_of_messages_is_read_anew(server: Server, kafka_broker: KafkaBroker, registry: Registry) -> None:
    topic, client = Topic(kafka_broker), server.client()
    identity = {"name": "id", "type": "long"}
    more = {"name": "v", "type": ["null", "string"], "default": None}
    one, two = ({"type": "record", "name": "r", "fields": fields} for fields in ([identity], [identity, more]))
    first = registry.register(f"{topic.name}-value", one)
    topic.write([avro_values.encoded(one, {"id": 1}, first)])
    client.run(topic.source("s", "(*)", encode(registry)))
    client.run(table(topic, "t", "(*)", encode(registry)))
    client.run("CREATE MATERIALIZED VIEW before AS SELECT * FROM s; FLUSH")
    with pytest.raises(FeatureNotSupported, match="those of the schema"):
        client.run("ALTER SOURCE s ADD COLUMN v VARCHAR")
    second = registry.register(f"{topic.name}-value", two)
    client.run("ALTER SOURCE s REFRESH SCHEMA; ALTER TABLE t REFRESH SCHEMA; ALTER SOURCE s REFRESH SCHEMA")
    topic.write([avro_values.encoded(two, {"id": 2, "v": "two"}, second)])
    client.run("CREATE MATERIALIZED VIEW after AS SELECT * FROM s; FLUSH")
    assert sorted(client.run("SELECT * FROM before")) == [(1,), (2,)]
    assert sorted(client.run("SELECT * FROM after")) == [(1, None), (2, "two")]
    assert sorted(client.run("SELECT * FROM t")) == [(1, None), (2, "two")]
    registry.register(f"{topic.name}-value", {**one, "fields": [more]})
    with pytest.raises(FeatureNotSupported, match="no longer: id"):
        client.run("ALTER SOURCE s REFRESH SCHEMA")
