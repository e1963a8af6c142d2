"""Ranges of partitions, on a real broker: transactions, gaps, what was read ahead, and a broker that goes."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from concurrent.futures import Future
from itertools import pairwise
from types import SimpleNamespace
from typing import NamedTuple

import pytest

from risingpy.connectors.registry import connector_of
from risingpy.connectors.seekable import MESSAGES, SeekableConnector
from risingpy.errors import InvalidParameterValue, SourceUnavailable
from tests.connectors.kafka.topics import Topic
from tests.connectors.systems.kafka import KafkaBroker


class Partition(NamedTuple):
    """As much of a TopicPartition as an answer of offsets needs."""

    partition: int


def connector(topic: Topic, **more: str) -> SeekableConnector:
    return connector_of({**topic.options(), **{name.replace("_", "."): value for name, value in more.items()}})


def test_any_cut_of_ranges_gives_the_same_messages(kafka_broker: KafkaBroker) -> None:
    topic = Topic(kafka_broker)
    topic.write([str(k) for k in range(500)])
    chance = random.Random(3)
    reader = connector(topic).message_reader()
    for _ in range(5):
        cuts = sorted({0, 500, *(chance.randrange(500) for _ in range(4))})
        ranges = list(pairwise(cuts))
        if chance.random() < 0.5:
            chance.shuffle(ranges)
        read = {start: reader.read("0", start, end) for start, end in ranges}
        assert all(table.schema == MESSAGES for table in read.values())
        values = [value for start in sorted(read) for value in read[start]["payload"].to_pylist()]
        assert values == [str(k).encode() for k in range(500)]
    reader.close()


def test_parts_of_a_message(kafka_broker: KafkaBroker) -> None:
    topic = Topic(kafka_broker)
    before = int(time.time() * 1000)
    topic.write([b"v", None], key=b"k", headers=[("h", b"1"), ("h", None)])
    topic.write([b"w"])
    reader = connector(topic).message_reader()
    rows = reader.read("0", 0, 3).to_pylist()
    reader.close()
    headers = [{"key": "h", "value": b"1"}, {"key": "h", "value": None}]
    assert [(r["key"], r["payload"], r["offset"], r["headers"]) for r in rows] == [
        (b"k", b"v", 0, headers),
        (b"k", None, 1, headers),
        (None, b"w", 2, None),
    ]
    assert all(before <= r["timestamp"].timestamp() * 1000 <= before + 60_000 for r in rows)


def test_only_what_was_committed_is_read(kafka_broker: KafkaBroker) -> None:
    """An open transaction holds the end back, an aborted one leaves a gap."""
    topic = Topic(kafka_broker)
    # A producer for each: noida-db tells of an abort also those who begin after it, who then skip its producer's rows.
    for number, (committed, values) in enumerate(((True, "ab"), (False, "cd"), (True, "e"), (None, "f"))):
        producer = topic.producer(transactional_id=f"{topic.name}-{number}")
        producer.init_transactions(20)
        producer.begin_transaction()
        for value in values:
            producer.produce(topic.name, value=value)
        producer.flush(20)
        if committed is not None:
            (producer.commit_transaction if committed else producer.abort_transaction)(20)
    splits = connector(topic).splits()
    end = splits.ends()["0"].end
    reader = connector(topic).message_reader()
    table = reader.read("0", 0, end)
    assert table["payload"].to_pylist() == [b"a", b"b", b"e"]
    assert table.num_rows < end
    producer.commit_transaction(20)
    later = splits.ends()["0"].end
    assert reader.read("0", end, later)["payload"].to_pylist() == [b"f"]
    reader.close()


def test_new_partitions_are_found(kafka_broker: KafkaBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("risingpy.connectors.kafka.source.DISCOVERY_SECONDS", 0.0)
    topic = Topic(kafka_broker)
    splits = connector(topic).splits()
    assert list(splits.ends()) == ["0"]
    topic.extend(3)
    assert list(splits.ends()) == ["0", "1", "2"]


@pytest.mark.parametrize("mode", ["earliest", "latest", "timestamp"])
def test_where_a_view_begins(kafka_broker: KafkaBroker, mode: str) -> None:
    topic = Topic(kafka_broker)
    topic.write(["a", "b"])
    time.sleep(0.05)
    since = str(int(time.time() * 1000))
    time.sleep(0.05)
    topic.write(["c"])
    more = {"scan_startup_timestamp_millis": since} if mode == "timestamp" else {}
    start = connector(topic, scan_startup_mode=mode, **more).splits().ends()["0"].start
    assert start == {"earliest": 0, "latest": 3, "timestamp": 2}[mode]


def test_check_says_what_is_wrong(kafka_broker: KafkaBroker) -> None:
    topic = Topic(kafka_broker)
    connector(topic).check()
    with pytest.raises(InvalidParameterValue, match='topic "nosuch" does not exist'):
        connector_of({**topic.options(), "topic": "nosuch"}).check()
    began = time.monotonic()
    with pytest.raises(SourceUnavailable, match="does not answer") as error:
        connector_of({**topic.options(), "properties.bootstrap.server": "127.0.0.1:1"}).check()
    assert error.value.sqlstate == "HV00N"
    assert time.monotonic() - began < 5
    with pytest.raises(InvalidParameterValue, match=r"session\.timeout\.ms"):  # of consumers only
        connector_of({**topic.options(), "properties.max.poll.interval.ms": "2000"}).check()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"topic": ""}, "the kafka connector needs the option topic"),
        ({"topik": "x"}, 'unknown option "topik" of the kafka connector'),
        ({"scan.startup.mode": "newest"}, 'invalid scan.startup.mode "newest"'),
        ({"scan.startup.mode": "timestamp"}, "scan.startup.mode timestamp needs scan.startup.timestamp.millis"),
        ({"scan.startup.timestamp.millis": "x"}, 'invalid scan.startup.timestamp.millis "x"'),
        ({"properties.group.id": "x"}, 'option "properties.group.id" cannot be set: the source needs its own value'),
        (
            {"properties.plugin.library.paths": "/tmp/x"},
            'option "properties.plugin.library.paths" cannot be set: it would run code in the server',
        ),
        (
            {"properties.sasl.kerberos.kinit.cmd": "x"},
            'option "properties.sasl.kerberos.kinit.cmd" cannot be set: it would run code in the server',
        ),
        (
            {"properties.stats_cb": "x"},
            'option "properties.stats_cb" cannot be set: its value is a function of a program',
        ),
        ({"source_rate_limit": "-1"}, 'invalid source_rate_limit "-1"'),
    ],
)
def test_options_that_are_refused(options: dict[str, str], message: str) -> None:
    pytest.importorskip("confluent_kafka", reason="confluent-kafka is not installed")
    base = {"connector": "kafka", "topic": "t", "properties.bootstrap.server": "127.0.0.1:1"}
    with pytest.raises(InvalidParameterValue) as error:
        connector_of({**base, **options})
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"properties.nosuch": "x"}, 'No such configuration property: "nosuch"'),
        ({"properties.socket.timeout.ms": "x"}, 'Invalid value for configuration property "socket.timeout.ms"'),
        ({"properties.security.protocol": "ssl", "properties.ssl.ca.location": "/nosuch"}, "ssl.ca.location failed"),
    ],
)
def test_options_that_librdkafka_refuses(options: dict[str, str], message: str) -> None:
    """CREATE says so, and so do both sides of a source that an older library accepted."""
    pytest.importorskip("confluent_kafka", reason="confluent-kafka is not installed")
    base = {"connector": "kafka", "topic": "t", "properties.bootstrap.server": "127.0.0.1:1"}
    made = connector_of({**base, **options})
    uses: list[Callable[[], object]] = [made.check, made.splits, lambda: made.message_reader().read("0", 0, 1)]
    for use in uses:
        with pytest.raises(InvalidParameterValue, match="invalid option of the kafka connector") as error:
            use()
        assert message in str(error.value)


def test_a_range_beyond_the_end_is_not_waited_for_without_end(
    kafka_broker: KafkaBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("risingpy.connectors.kafka.source.ANSWER_SECONDS", 0.5)
    topic = Topic(kafka_broker)
    topic.write(["a"])
    reader = connector(topic).message_reader()
    with pytest.raises(SourceUnavailable):
        reader.read("0", 0, 5)
    assert reader.read("0", 0, 1)["payload"].to_pylist() == [b"a"]
    reader.close()


def test_a_broker_that_does_not_know_an_end_is_not_taken_for_a_shorter_topic(
    kafka_broker: KafkaBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = Topic(kafka_broker)
    topic.write(["{}"])
    splits = connector(topic).splits()
    assert splits.ends()["0"].end == 1
    unknown: Future[SimpleNamespace] = Future()
    unknown.set_result(SimpleNamespace(offset=-1))
    asked = Partition(0)
    client = SimpleNamespace(list_offsets=lambda *_, **__: {asked: unknown})
    monkeypatch.setattr(splits, "_client", client)
    with pytest.raises(SourceUnavailable, match="does not know where it ends"):
        splits.ends()
