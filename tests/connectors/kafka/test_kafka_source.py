"""Views of Kafka topics: every message once, bad ones kept apart, and nothing waits for a broker that is gone."""

from __future__ import annotations

import importlib.util
import json
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from risingpy.errors import SqlError
from tests.connectors.kafka.topics import Topic
from tests.connectors.systems.kafka import KafkaBroker, missing_reason
from tests.connectors.systems.process import free_port, running
from tests.meta.conftest import Server

COLUMNS = "(id BIGINT, grp INT, v NUMERIC)"
QUERY = "SELECT grp, count(*) AS n, sum(v) AS total, max(id) AS last FROM s GROUP BY grp"


def messages(chance: random.Random, first: int, count: int) -> list[dict[str, object]]:
    return [{"id": first + k, "grp": chance.randrange(5), "v": f"{chance.randrange(1000)}.50"} for k in range(count)]


@contextmanager
def stopping_broker(directory: Path, port: int) -> Iterator[None]:
    """A broker that ends in peace, so that it has its messages when it is started again."""
    directory.mkdir(exist_ok=True)
    program = Path(str(importlib.util.find_spec("noida_db").origin)).parent / "noida-db"  # type: ignore[union-attr]
    options = [
        "--data-dir",
        str(directory / "data"),
        "--host",
        "127.0.0.1",
        "--only",
        "kafka",
        "--kafka-port",
        str(port),
    ]
    with running([str(program), "start", *options], port, directory / "log") as process:
        yield
        process.terminate()
        process.wait(20)


def eventually(check: Callable[[], bool], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.on_spark
def test_three_answers_agree(server: Server, kafka_broker: KafkaBroker) -> None:
    """A view before the messages, one after them, and the query over a table that was given the same rows."""
    chance = random.Random(7)
    topic = Topic(kafka_broker, partitions=3)
    client = server.client()
    client.run(topic.source("s", COLUMNS) + f"; CREATE MATERIALIZED VIEW before AS {QUERY}")
    client.run("CREATE TABLE t (id BIGINT, grp INT, v NUMERIC)")
    for batch in range(4):
        found = messages(chance, batch * 1000, 700)
        for partition in range(3):
            topic.write([json.dumps(message) for message in found[partition::3]], partition)
        rows = ", ".join(f"({m['id']}, {m['grp']}, {m['v']})" for m in found)
        client.run(f"INSERT INTO t VALUES {rows}")
        if batch == 1:
            server.restart()
            client = server.client()
    client.run(f"CREATE MATERIALIZED VIEW after AS {QUERY}; FLUSH")
    expected = sorted(client.run(QUERY.replace("FROM s", "FROM t")))
    assert sorted(client.run("SELECT * FROM before")) == expected
    assert sorted(client.run("SELECT * FROM after")) == expected
    assert client.run("SELECT sum(lag) FROM rw_source_lag") == [(0,)]


def test_bad_messages_are_kept_apart(server: Server, kafka_broker: KafkaBroker) -> None:
    topic = Topic(kafka_broker)
    topic.write(['{"id": 1}', "junk", '{"id": "x"}', '{"id": 2}', b"\xff"])
    client = server.client()
    client.run(topic.source("s", "(id INT)"))
    client.run(
        "CREATE MATERIALIZED VIEW v AS SELECT id FROM s; CREATE MATERIALIZED VIEW w AS SELECT count(*) AS n FROM s"
    )
    assert client.run("SELECT id FROM v ORDER BY 1") == [(1,), (2,)]
    assert client.run("SELECT n FROM w") == [(2,)]
    assert client.run('SELECT partition, "offset", reason, message FROM rw_source_errors ORDER BY 2') == [
        ("0", 1, "invalid JSON", "junk"),
        ("0", 2, 'column "id": invalid input syntax for type integer: "x"', '{"id": "x"}'),
        ("0", 4, "invalid byte sequence for encoding UTF8: byte 0", "\\xff"),
    ]
    assert client.run("SELECT DISTINCT bad_messages FROM rw_source_lag") == [(3,)]


def test_a_flood_of_bad_messages_is_bounded(server: Server, kafka_broker: KafkaBroker) -> None:
    topic = Topic(kafka_broker)
    topic.write(["x" * 5_000] * 3_000 + ['{"id": 7}'])
    client = server.client()
    client.run(topic.source("s", "(id INT)") + "; CREATE MATERIALIZED VIEW v AS SELECT id FROM s")
    assert client.run("SELECT id FROM v") == [(7,)]
    [(count, longest)] = client.run("SELECT count(*), max(length(message)) FROM rw_source_errors")
    assert 0 < count <= 1000
    assert longest == 1000
    assert client.run("SELECT bad_messages FROM rw_source_lag") == [(3000,)]


def test_parts_of_messages_and_generated_columns(server: Server, kafka_broker: KafkaBroker) -> None:
    topic = Topic(kafka_broker)
    topic.write(['{"id": 1, "at": "2026-01-01 00:00:00"}'], key="k1", headers=[("h", b"x")])
    topic.write(['{"id": 2}'])
    client = server.client()
    source = topic.source(
        "s",
        "(id INT, at TIMESTAMP, twice INT AS (id * 2), WATERMARK FOR at AS at - INTERVAL '1 s')"
        " INCLUDE key AS k INCLUDE partition INCLUDE offset AS o INCLUDE header 'h' varchar AS h"
        " INCLUDE header AS hs INCLUDE payload AS p INCLUDE timestamp AS ts",
    )
    client.run(source)
    client.run(
        "CREATE MATERIALIZED VIEW v AS SELECT id, twice, k, _rw_kafka_partition, o, h, p->>'id' AS p,"
        " (hs[1]).value AS header, ts > '2020-01-01' AS recent FROM s"
    )
    assert client.run("SELECT * FROM v ORDER BY id") == [
        (1, 2, b"k1", "0", "0", "x", "1", b"x", True),
        (2, 4, None, "0", "1", None, "2", None, True),
    ]


@pytest.mark.parametrize("mode", ["earliest", "latest"])
def test_where_views_begin(server: Server, kafka_broker: KafkaBroker, mode: str) -> None:
    topic = Topic(kafka_broker)
    topic.write(['{"id": 1}'])
    client = server.client()
    client.run(topic.source("s", "(id INT)", scan_startup_mode=mode))
    client.run("CREATE MATERIALIZED VIEW v AS SELECT id FROM s")
    topic.write(['{"id": 2}'])
    client.run("FLUSH; CREATE MATERIALIZED VIEW w AS SELECT id FROM s")
    topic.write(['{"id": 3}'])
    client.run("FLUSH")
    assert sorted(client.run("SELECT id FROM v")) == [(1,), (2,), (3,)][mode == "latest" :]
    assert sorted(client.run("SELECT id FROM w")) == ([(3,)] if mode == "latest" else [(1,), (2,), (3,)])


def test_a_partition_that_comes_later_is_read_whole(
    server: Server, kafka_broker: KafkaBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("risingpy.connectors.kafka.source.DISCOVERY_SECONDS", 0.0)
    topic = Topic(kafka_broker)
    client = server.client()
    client.run(topic.source("s", "(id INT)", scan_startup_mode="latest"))
    client.run("CREATE MATERIALIZED VIEW v AS SELECT id FROM s")
    topic.extend(2)
    topic.write(['{"id": 1}'], partition=1)
    eventually(lambda: client.run("FLUSH; SELECT id FROM v") == [(1,)])


def test_a_rate_limit_and_a_pause(server: Server, kafka_broker: KafkaBroker) -> None:
    topic = Topic(kafka_broker)
    topic.write(['{"id": 1}'] * 50)
    client = server.client()
    client.run(topic.source("paused", "(id INT)").replace(") FORMAT", ", source_rate_limit = 0) FORMAT"))
    client.run("CREATE MATERIALIZED VIEW p AS SELECT count(*) AS n FROM paused; FLUSH")
    assert client.run("SELECT n FROM p") == [(0,)]
    client.run(topic.source("slow", "(id INT)").replace(") FORMAT", ", source_rate_limit = 20) FORMAT"))
    began = time.monotonic()
    client.run("CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n FROM slow")
    assert client.run("SELECT n FROM v") == [(50,)]
    assert time.monotonic() - began > 1.5


def test_a_broker_that_is_gone_stops_nothing_else(server: Server, tmp_path: Path) -> None:
    """Views stand still, FLUSH returns, tables go on; when the broker is back, nothing is missing."""
    if (reason := missing_reason()) is not None:
        pytest.skip(reason)
    port = free_port()
    broker = KafkaBroker(f"127.0.0.1:{port}")
    client = server.client()
    client.run("CREATE TABLE t (id INT)")
    with stopping_broker(tmp_path / "kafka", port):
        topic = Topic(broker)
        topic.write(['{"id": 1}'])
        client.run(topic.source("s", "(id INT)") + "; CREATE MATERIALIZED VIEW v AS SELECT id FROM s")
        assert client.run("SELECT id FROM v") == [(1,)]
    began = time.monotonic()
    client.run("INSERT INTO t VALUES (1); FLUSH")
    assert client.run("SELECT id FROM t") == [(1,)]
    assert time.monotonic() - began < 8
    eventually(lambda: client.run("SELECT failure IS NOT NULL FROM rw_source_lag") == [(True,)])
    client.run("INSERT INTO t VALUES (2)")
    with stopping_broker(tmp_path / "kafka", port):
        topic.write(['{"id": 2}'])
        eventually(lambda: client.run("FLUSH; SELECT id FROM v ORDER BY id") == [(1,), (2,)], seconds=60)
        assert client.run("SELECT failure FROM rw_source_lag") == [(None,)]


def test_the_rate_limit_is_altered(server: Server, kafka_broker: KafkaBroker) -> None:
    topic = Topic(kafka_broker)
    topic.write(['{"id": 1}'])
    client = server.client()
    client.run(topic.source("s", "(id INT)", properties_sasl_password="hidden"))
    client.run("ALTER SOURCE s SET source_rate_limit = 0; CREATE MATERIALIZED VIEW v AS SELECT id FROM s; FLUSH")
    assert client.run("SELECT id FROM v") == []
    [(_, text)] = client.run("SHOW CREATE SOURCE s")
    assert "properties.bootstrap.server" in text
    assert ", source_rate_limit = 0)" in text
    assert "properties.sasl.password = '***'" in text
    server.restart()
    client = server.client()
    assert client.run("FLUSH; SELECT id FROM v") == []
    client.run("ALTER SOURCE s SET source_rate_limit TO DEFAULT; FLUSH")
    assert client.run("SELECT id FROM v") == [(1,)]
    assert "source_rate_limit = DEFAULT" in client.run("SHOW CREATE SOURCE s")[0][1]
    for sql, message in (
        ("ALTER SOURCE s SET source_rate_limit = fast", 'invalid source_rate_limit "fast"'),
        ("ALTER SOURCE s SET topic = 'x'", 'option "topic" of a source cannot be changed'),
        ("ALTER SOURCE s SET wrong = 'x'", 'unknown option "wrong" of the kafka connector'),
        ("ALTER SOURCE v SET source_rate_limit = 1", '"v" is not a source'),
    ):
        with pytest.raises(SqlError) as error:
            client.run(sql)
        assert str(error.value) == message


def test_a_topic_that_is_made_anew_is_not_read_in_part(server: Server, kafka_broker: KafkaBroker) -> None:
    """Its first messages would be left out: the view stands still, and says why."""
    topic = Topic(kafka_broker)
    topic.write(['{"id": 1}'] * 10)
    client = server.client()
    client.run(topic.source("s", "(id INT)") + "; CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n FROM s")
    assert client.run("SELECT n FROM v") == [(10,)]
    topic.make_anew()
    topic.write(['{"id": 2}'] * 3)
    reason = 'split "0" ends at 3, but was read up to 10: it was made anew, or has lost its newest'
    eventually(lambda: client.run("SELECT failure FROM rw_source_lag") == [(reason,)])
    assert client.run("FLUSH; SELECT n FROM v") == [(10,)]
    client.run("DROP MATERIALIZED VIEW v; CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n FROM s")
    eventually(lambda: client.run("SELECT n FROM v") == [(3,)], seconds=60)


def test_a_source_and_a_fed_table_are_altered(server: Server, kafka_broker: KafkaBroker) -> None:
    topic = Topic(kafka_broker)
    topic.write(['{"id": 1}'])
    client = server.client()
    client.run(topic.source("s", "(id INT)"))
    client.run(topic.source("t", "(id INT PRIMARY KEY)").replace("CREATE SOURCE", "CREATE TABLE"))
    client.run("CREATE MATERIALIZED VIEW v AS SELECT id FROM s")
    for kind, name in (("SOURCE", "s"), ("TABLE", "t")):
        options = "(properties.client.id = 'renewed', properties.fetch.wait.max.ms = 50,)"
        client.run(f"ALTER {kind} {name} CONNECTOR WITH {options}")
        assert "properties.client.id = renewed" in client.run(f"SHOW CREATE {kind} {name}")[0][1]
    with pytest.raises(SqlError, match=r"127\.0\.0\.1:1"):
        client.run("ALTER SOURCE s SET properties.bootstrap.server = '127.0.0.1:1'")
    topic.write(['{"id": 2}'])
    assert client.run("FLUSH; SELECT v.id, t.id FROM v JOIN t ON v.id = t.id ORDER BY 1") == [(1, 1), (2, 2)]
    with pytest.raises(SqlError, match='has no "subject" to include'):
        client.run(topic.source("u", "(id INT) INCLUDE subject"))
