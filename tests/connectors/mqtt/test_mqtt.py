"""`connector = 'mqtt'`: messages become rows of a table, and none is lost while the broker keeps the session."""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from risingpy.errors import FeatureNotSupported, InvalidParameterValue, SourceUnavailable
from risingpy.server_process import ServerProcess
from tests.connectors.mqtt.publishing import Publisher, until
from tests.meta.conftest import Client, Server

ROUNDS = int(os.environ.get("RISINGPY_CRASH_ROUNDS", "2"))


@pytest.fixture
def publisher(mqtt_url: str) -> Iterator[Publisher]:
    made = Publisher(mqtt_url)
    yield made
    made.close()


def wait_for(client: Client, count: int, relation: str = "t") -> None:
    until(lambda: client.run(f"FLUSH; SELECT count(*) FROM {relation}") == [(count,)])


@pytest.mark.on_spark
def test_messages_become_rows_and_views(server: Server, publisher: Publisher) -> None:
    """Of all topics below one, with the parts of messages; a later message of a key replaces the earlier one."""
    client = server.client()
    include = "INCLUDE topic INCLUDE header 'unit' varchar AS unit INCLUDE timestamp AS came INCLUDE payload AS p"
    client.run(publisher.table(include=include))
    client.run("CREATE MATERIALIZED VIEW before AS SELECT v, count(*) AS n FROM t GROUP BY v")
    publisher.write('{"id": 1, "v": 7}', '{"id": 2, "v": 7}', below="a/b", unit="K")
    publisher.write('{"id": 2, "v": 8}', '{"id": 3}', below="c")
    wait_for(client, 3)
    until(lambda: client.run("SELECT v FROM t WHERE id = 2") == [(8,)])
    found = client.run(
        "SELECT id, v, _rw_mqtt_topic, unit, p->>'id', came > now() - interval '1 hour' FROM t ORDER BY id"
    )
    ours = publisher.topic
    assert found == [
        (1, 7, f"{ours}/a/b", "K", "1", True),
        (2, 8, f"{ours}/c", None, "2", True),
        (3, None, f"{ours}/c", None, "3", True),
    ]
    client.run("CREATE MATERIALIZED VIEW after AS SELECT v, count(*) AS n FROM t GROUP BY v")
    for relation in ("before", "after"):
        assert sorted(client.run(f"SELECT v, n FROM {relation}"), key=str) == [(7, 1), (8, 1), (None, 1)]
    client.run("DELETE FROM t WHERE id = 1; INSERT INTO t (id, v) VALUES (4, 9)")
    assert client.run("SELECT id FROM t ORDER BY id") == [(2,), (3,), (4,)]


def test_bad_messages_are_kept_with_their_reason(server: Server, publisher: Publisher) -> None:
    client = server.client()
    client.run(publisher.table("(id INT NOT NULL, v INT)"))
    publisher.write("no json", '{"id": 1, "v": "x"}', '{"v": 1}', b"\xff", '{"id": 5}', '{"id": 5}')
    wait_for(client, 2)
    found = client.run("SELECT reason FROM rw_catalog.rw_source_errors WHERE source_name = 't' ORDER BY \"offset\"")
    assert [reason.split(":")[0] for (reason,) in found] == [
        "invalid JSON",
        'column "v"',
        'null value in column "id" violates not-null constraint',
        "invalid byte sequence for encoding UTF8",
    ]
    assert client.run("SELECT count(DISTINCT _row_id) FROM t WHERE _row_id < 0") == [(2,)]


def test_what_comes_while_the_server_is_down_comes_later(server: Server, publisher: Publisher) -> None:
    server.client().run(publisher.table())
    publisher.write('{"id": 1}')
    wait_for(server.client(), 1)
    server.stop()
    publisher.write(*(f'{{"id": {k}, "v": 1}}' for k in range(2, 302)))
    server.start()
    wait_for(server.client(), 301)
    assert server.client().run("SELECT failure FROM rw_catalog.rw_source_lag WHERE failure IS NOT NULL") == []


def test_a_dropped_table_leaves_no_session(server: Server, publisher: Publisher) -> None:
    client = server.client()
    client.run(publisher.table(**{"client.id": f"c{publisher.topic}"}))
    client.run("DROP TABLE t")
    publisher.write('{"id": 1}')
    client.run(publisher.table(**{"client.id": f"c{publisher.topic}"}))
    publisher.write('{"id": 2}')
    wait_for(client, 1)
    assert client.run("SELECT id FROM t") == [(2,)]


def test_a_retained_message_comes_once(server: Server, publisher: Publisher) -> None:
    publisher.write('{"id": 1, "v": 1}', retain=True)
    server.client().run(publisher.table("(id INT, v INT)"))
    wait_for(server.client(), 1)
    server.restart()
    publisher.write('{"id": 2, "v": 1}')
    wait_for(server.client(), 2)
    publisher.write("", retain=True)


def test_what_is_refused(server: Server, publisher: Publisher) -> None:
    client, made = server.client(), publisher.table
    for sql, error, text in (
        (
            made().replace("CREATE TABLE", "CREATE SOURCE").replace(" PRIMARY KEY", ""),
            FeatureNotSupported,
            "to a table",
        ),
        (made().removesuffix(" FORMAT PLAIN ENCODE JSON"), InvalidParameterValue, "needs FORMAT"),
        (made().replace("PLAIN", "UPSERT"), FeatureNotSupported, "no key"),
        (made("(id INT, w INT AS id + 1)"), FeatureNotSupported, 'generated column "w"'),
        (made(include="INCLUDE key"), InvalidParameterValue, 'no "key" to include'),
        (made(qos="exactly_once"), FeatureNotSupported, "exactly_once"),
        (made(qos="7"), InvalidParameterValue, 'invalid value "7"'),
        (made(topic="a/#/b"), InvalidParameterValue, "invalid topic"),
        (made(topic="a/b+"), InvalidParameterValue, "invalid topic"),
        (made(colour="red"), InvalidParameterValue, 'unknown option "colour"'),
        (made(url="x"), InvalidParameterValue, "url"),
        (made(url="tcp://127.0.0.1:1", password="hunter2"), SourceUnavailable, "MQTT"),
    ):
        with pytest.raises(error, match=text):
            client.run(sql)
    assert client.run("SHOW TABLES") == []
    client.run(made())
    with pytest.raises(FeatureNotSupported, match="takes in messages as they come"):
        client.run("ALTER TABLE t ADD COLUMN w INT")
    client.run("ALTER TABLE t RENAME TO u")
    publisher.write('{"id": 1}')
    wait_for(client, 1, "u")


@pytest.mark.parametrize("on_spark", [False, pytest.param(True, marks=[pytest.mark.slow, pytest.mark.timeout(3600)])])
def test_no_message_is_lost_through_kills(tmp_path: Path, publisher: Publisher, on_spark: bool) -> None:
    """With a primary key each message is one row; without one it is a row or more."""
    chance, stop, written = random.Random(5), threading.Event(), 0

    def write() -> None:
        nonlocal written
        while not stop.is_set():
            publisher.write(*(f'{{"id": {k}, "v": {k % 10}}}' for k in range(written, written + 20)))
            written += 20
            time.sleep(0.02)

    writer = threading.Thread(target=write)
    for number in range(ROUNDS):
        server = ServerProcess(tmp_path / "data")
        try:
            if number == 0:
                with server.connect() as connection:
                    connection.execute(publisher.table())
                    connection.execute(publisher.table("(id INT, v INT)").replace("TABLE t ", "TABLE keyless "))
                    connection.execute("CREATE MATERIALIZED VIEW m AS SELECT v, count(*) AS n FROM t GROUP BY v")
                writer.start()
            if on_spark:
                server.wait_for_spark()
            time.sleep(chance.uniform(0.3, 2.0))
        finally:
            server.kill()
    stop.set()
    writer.join()
    server = ServerProcess(tmp_path / "data")
    try:
        with server.connect() as connection:

            def rows() -> int:
                [(count, distinct)] = connection.execute(
                    "SELECT (SELECT count(*) FROM t), (SELECT count(DISTINCT id) FROM keyless)"
                ).fetchall()
                return min(int(count), int(distinct))

            until(lambda: rows() == written)
            found = dict(connection.execute("SELECT v, n FROM m").fetchall())
    finally:
        server.stop()
    assert found == dict.fromkeys(range(10), written // 10)
