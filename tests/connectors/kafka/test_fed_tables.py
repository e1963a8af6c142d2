"""CREATE TABLE … WITH (connector = 'kafka'): the topic's rows beside those of statements, each once."""

from __future__ import annotations

import json
import random
from collections import Counter

import pytest

from risingpy.errors import FeatureNotSupported, InvalidParameterValue, SqlError
from tests.connectors.kafka.topics import Topic
from tests.connectors.systems.kafka import KafkaBroker
from tests.meta.conftest import Server


def table(topic: Topic, name: str, columns: str, format_: str = "FORMAT PLAIN ENCODE JSON") -> str:
    return topic.source(name, columns, format_).replace("CREATE SOURCE", "CREATE TABLE", 1)


def rows(*ids: int, **more: object) -> list[str]:
    return [json.dumps({"id": k, **more}) for k in ids]


@pytest.mark.on_spark
def test_rows_of_a_topic_and_of_statements(server: Server, kafka_broker: KafkaBroker) -> None:
    topic, client = Topic(kafka_broker, 2), server.client()
    topic.write(rows(1, 2, 3))
    client.run(table(topic, "t", "(id BIGINT, twice BIGINT AS (id * 2))"))
    client.run(
        "CREATE MATERIALIZED VIEW m AS SELECT count(*) AS n, sum(twice) AS s FROM t; INSERT INTO t VALUES (4), (1)"
    )
    topic.write(rows(5), partition=1)
    client.run("FLUSH")
    assert sorted(client.run("SELECT id FROM t")) == [(1,), (1,), (2,), (3,), (4,), (5,)]
    assert client.run("SELECT n, s FROM m") == [(6, 32)]
    assert len(client.run("SELECT DISTINCT _row_id FROM t")) == 6
    client.run("DELETE FROM t WHERE id = 1; UPDATE t SET id = 50 WHERE id = 5")
    server.restart()
    client = server.client()
    topic.write(rows(1))
    client.run("FLUSH")
    assert sorted(client.run("SELECT id FROM t")) == [(1,), (2,), (3,), (4,), (50,)]
    assert client.run("SELECT n, s FROM m") == [(5, 120)]
    client.run("DROP MATERIALIZED VIEW m; DROP TABLE t")


@pytest.mark.on_spark
def test_a_later_row_of_a_key_wins(server: Server, kafka_broker: KafkaBroker) -> None:
    topic, client = Topic(kafka_broker, 2), server.client()
    client.run(table(topic, "t", "(id BIGINT PRIMARY KEY, v BIGINT)"))
    values = {}
    for v in range(4000):  # of one partition: many epochs, and parts of a range on several shards
        values[v % 50] = v
    topic.write([json.dumps({"id": v % 50, "v": v}) for v in range(4000)])
    client.run("FLUSH")
    assert dict(client.run("SELECT id, v FROM t")) == values
    topic.write(['{"v": 7}', '{"id": 50, "v": null}'])  # a row without a key is none
    client.run("FLUSH")
    assert len(client.run("SELECT * FROM t")) == 51
    assert client.run("SELECT v FROM t WHERE id = 50") == [(None,)]


def test_included_columns_limits_and_lag(server: Server, kafka_broker: KafkaBroker) -> None:
    topic, client = Topic(kafka_broker), server.client()
    topic.write(rows(1), key="one")
    statement = table(topic, "t", "(id BIGINT) INCLUDE KEY AS k INCLUDE OFFSET AS place")
    client.run(statement.replace("'kafka'", "'kafka', source_rate_limit = 0"))
    client.run("FLUSH")
    assert client.run("SELECT * FROM t") == []
    client.run("ALTER TABLE t SET source_rate_limit = default; FLUSH")
    assert client.run("SELECT id, k, place FROM t") == [(1, b"one", "0")]
    ((shown,),) = client.run("SELECT definition FROM rw_catalog.rw_tables WHERE name = 't'")
    assert "source_rate_limit = default" in shown
    topic.write(["nonsense"])
    client.run("FLUSH; ALTER TABLE t RENAME TO u; FLUSH")
    lag = "SELECT source_name, job_name, lag, bad_messages FROM rw_catalog.rw_source_lag"
    assert client.run(lag) == [("u", "u", 0, 1)]
    assert [row[:1] for row in client.run("SELECT source_name, reason FROM rw_catalog.rw_source_errors")] == [("u",)]
    client.run("DROP TABLE u")
    assert client.run(lag) == []


def test_a_key_may_be_that_of_the_message(server: Server, kafka_broker: KafkaBroker) -> None:
    topic, client = Topic(kafka_broker), server.client()
    for key, value in (("a", 1), ("b", 2), ("a", 3)):
        topic.write([json.dumps({"v": value})], key=key)
    client.run(table(topic, "t", "(v BIGINT, PRIMARY KEY (k)) INCLUDE KEY AS k"))
    client.run("FLUSH")
    assert Counter(client.run("SELECT k, v FROM t")) == Counter({(b"a", 3): 1, (b"b", 2): 1})


def test_what_is_refused(server: Server, kafka_broker: KafkaBroker) -> None:
    topic, client = Topic(kafka_broker), server.client()
    with pytest.raises(InvalidParameterValue, match="needs FORMAT"):
        client.run(table(topic, "t", "(id BIGINT)", ""))
    with pytest.raises(FeatureNotSupported, match="value of its own"):
        client.run(table(topic, "t", "(id BIGINT DEFAULT 3)"))
    with pytest.raises(SqlError, match="unknown option"):
        client.run(table(topic, "t", "(id BIGINT)").replace("'kafka'", "'kafka', colour = 'red'"))
    with pytest.raises(InvalidParameterValue, match="no-such-topic"):
        client.run(table(topic, "t", "(id BIGINT)").replace(f"'{topic.name}'", "'no-such-topic'"))
    with pytest.raises(InvalidParameterValue, match="needs the option connector"):
        client.run("CREATE TABLE t (id BIGINT) WITH (topic = 'x') FORMAT PLAIN ENCODE JSON")
    assert client.run("SHOW TABLES") == []
    client.run(table(topic, "t", "(id BIGINT)"))
    for action in ("ADD COLUMN v INT DEFAULT 3", "ALTER COLUMN id SET DEFAULT 3"):
        with pytest.raises(FeatureNotSupported, match="has no DEFAULT"):
            client.run(f"ALTER TABLE t {action}")
    client.run(table(topic, "IF NOT EXISTS t", "(id BIGINT)"))


@pytest.mark.on_spark
def test_upserts_and_deletes_of_a_topic(server: Server, kafka_broker: KafkaBroker) -> None:
    topic, client, chance = Topic(kafka_broker), server.client(), random.Random(2)
    client.run(table(topic, "t", "(id BIGINT PRIMARY KEY, v BIGINT)", "FORMAT UPSERT ENCODE JSON"))
    client.run("CREATE MATERIALIZED VIEW m AS SELECT count(*) AS n, sum(v) AS s FROM t")
    wanted: dict[int, int] = {}
    for number in range(3):
        for v in range(60):
            key = chance.randrange(12)
            if chance.random() < 0.3:
                topic.write([None], key=json.dumps({"id": key}))
                wanted.pop(key, None)
            else:
                topic.write([json.dumps({"id": key, "v": v})], key=json.dumps({"id": key}))
                wanted[key] = v
        client.run("FLUSH")
        assert dict(client.run("SELECT id, v FROM t")) == wanted
        assert client.run("SELECT n, s FROM m") == [(len(wanted), sum(wanted.values()) if wanted else None)]
        if number == 0:
            server.restart()
            client = server.client()
    with pytest.raises(InvalidParameterValue, match="primary key"):
        client.run(table(topic, "u", "(id BIGINT, v BIGINT)", "FORMAT UPSERT ENCODE JSON"))
    with pytest.raises(InvalidParameterValue, match="primary key"):
        client.run(topic.source("s", "(id BIGINT, v BIGINT)", "FORMAT UPSERT ENCODE JSON"))


def test_changes_that_debezium_has_seen(server: Server, kafka_broker: KafkaBroker) -> None:
    topic, client = Topic(kafka_broker), server.client()
    client.run(table(topic, "t", "(id BIGINT PRIMARY KEY, v VARCHAR)", "FORMAT DEBEZIUM ENCODE JSON"))

    def change(op: str, key: int, before: str | None, after: str | None) -> None:
        rows = [None if v is None else {"id": key, "v": v} for v in (before, after)]
        message = {"payload": {"before": rows[0], "after": rows[1], "op": op, "ts_ms": 1}}
        topic.write([json.dumps(message)], key=json.dumps({"payload": {"id": key}}))

    change("r", 1, None, "there")
    change("c", 2, None, "new")
    change("u", 1, "there", "changed")
    change("d", 2, "new", None)
    topic.write([None], key=json.dumps({"payload": {"id": 2}}))
    change("c", 3, None, "three")
    client.run("FLUSH")
    assert client.run("SELECT * FROM t ORDER BY id") == [(1, "changed"), (3, "three")]


def test_an_included_key_is_that_of_upserts(server: Server, kafka_broker: KafkaBroker) -> None:
    topic, client = Topic(kafka_broker), server.client()
    statement = table(topic, "t", "(v BIGINT, PRIMARY KEY (k)) INCLUDE KEY AS k", "FORMAT UPSERT ENCODE JSON")
    client.run(statement)
    for key, value in (("a", '{"v": 1}'), ("b", '{"v": 2}'), ("a", None), ("c", '{"v": 3}'), ("b", '{"v": 4}')):
        topic.write([value], key=key)
    client.run("FLUSH")
    assert sorted(client.run("SELECT k, v FROM t")) == [(b"b", 4), (b"c", 3)]


def test_the_first_message_of_a_key_stays(server: Server, kafka_broker: KafkaBroker) -> None:
    topic, client = Topic(kafka_broker), server.client()
    topic.write([json.dumps({"id": k % 10, "v": k}) for k in range(100)])
    client.run(table(topic, "t", "(id INT PRIMARY KEY, v INT) ON CONFLICT DO NOTHING"))
    assert client.run("FLUSH; SELECT id, v FROM t ORDER BY id") == [(k, k) for k in range(10)]


def test_a_key_that_may_be_null_is_a_key(server: Server, kafka_broker: KafkaBroker) -> None:
    topic, client = Topic(kafka_broker), server.client()
    client.run(table(topic, "t", "(id INT NULL PRIMARY KEY, v INT)", "FORMAT UPSERT ENCODE JSON"))
    client.run(table(topic, "pair", "(id INT NULL, v INT, PRIMARY KEY (id, v))", "FORMAT PLAIN ENCODE JSON"))
    none, one = '{"id": null}', '{"id": 1}'
    for key, value in ((none, 1), (one, 2), (none, 3), (one, None), (none, 4), ('{"id": 5}', 5)):
        topic.write([None if value is None else json.dumps({**json.loads(key), "v": value})], key=key)
    assert client.run("FLUSH; SELECT id, v FROM t ORDER BY id") == [(5, 5), (None, 4)]
    assert client.run("SELECT id, v FROM pair ORDER BY v") == [(None, 1), (1, 2), (None, 3), (None, 4), (5, 5)]
    client.run("INSERT INTO t VALUES (NULL, 9)")
    assert client.run("FLUSH; SELECT v FROM t WHERE id IS NULL") == [(9,)]
    topic.write([None], key=none)
    assert client.run("FLUSH; SELECT id, v FROM t") == [(5, 5)]
    with pytest.raises(SqlError, match="a source feeds the table"):
        client.run("ALTER TABLE t ALTER COLUMN id SET NOT NULL")
    topic.write(['{"id": 7, "v": null}'], key='{"id": 7}')
    client.run("FLUSH")
    reasons = dict(client.run("SELECT reason, source_name FROM rw_catalog.rw_source_errors WHERE source_name = 'pair'"))
    assert reasons['null value in column "v" violates not-null constraint'] == "pair"


def test_a_message_without_a_key_deletes_no_row_of_the_key_null(server: Server, kafka_broker: KafkaBroker) -> None:
    topic, client = Topic(kafka_broker), server.client()
    client.run(table(topic, "t", "(id INT NULL PRIMARY KEY, v INT)", "FORMAT UPSERT ENCODE JSON"))
    topic.write(['{"v": 1}', None])
    client.run("FLUSH")
    assert client.run("SELECT id, v FROM t") == [(None, 1)]
    assert client.run("SELECT reason FROM rw_catalog.rw_source_errors") == [("the message has no key",)]


def test_a_row_that_lacks_what_it_must_have_is_a_bad_message(server: Server, kafka_broker: KafkaBroker) -> None:
    topic, client = Topic(kafka_broker), server.client()
    topic.write(['{"id": 1, "v": 1}', '{"v": 2}', '{"id": 3}', "nothing", '{"id": 4, "v": 4}'])
    client.run(table(topic, "t", "(id INT PRIMARY KEY, v INT NOT NULL)"))
    assert client.run("FLUSH; SELECT id, v FROM t ORDER BY id") == [(1, 1), (4, 4)]
    found = client.run('SELECT source_name, "offset", reason FROM rw_catalog.rw_source_errors ORDER BY 2')
    assert [row[:2] for row in found] == [("t", 1), ("t", 2), ("t", 3)]
    assert found[0][2] == 'null value in column "id" violates not-null constraint'
    assert client.run("SELECT DISTINCT bad_messages FROM rw_catalog.rw_source_lag") == [(3,)]


def test_a_watermark_and_a_masked_password(server: Server, kafka_broker: KafkaBroker) -> None:
    topic, client = Topic(kafka_broker), server.client()
    topic.write([json.dumps({"at": f"2026-01-01 00:{minute:02}:00"}) for minute in (10, 30, 31)])
    columns = "(at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL '5 minutes') APPEND ONLY INCLUDE offset AS o"
    client.run(table(topic, "t", columns).replace("'kafka'", "'kafka', properties.sasl.password = 'hidden'"))
    client.run("FLUSH")
    topic.write(['{"at": "2026-01-01 00:20:00"}', '{"at": "2026-01-01 00:29:00"}'])
    assert client.run("FLUSH; SELECT o FROM t ORDER BY o") == [("0",), ("1",), ("2",), ("4",)]
    ((_, shown),) = client.run("SHOW CREATE TABLE t")
    assert "properties.sasl.password = '***'" in shown
    with pytest.raises(SqlError):
        client.run("DELETE FROM t")
