"""Sinks to a real Kafka broker."""

from __future__ import annotations

import json
import time
import uuid
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from risingpy.connectors.formats.decoder import MessageFormat
from risingpy.connectors.targets.target import SinkSchema, SinkType
from risingpy.errors import InvalidParameterValue, SqlError, TargetUnavailable, UndefinedTable
from risingpy.types import BIGINT, VARCHAR
from tests.connectors.systems.kafka import KafkaBroker
from tests.connectors.targets.changes import changes_of
from tests.connectors.targets.killed import kill_everywhere

pytest.importorskip("confluent_kafka", reason="confluent-kafka is not installed: make test-connectors installs it")

import confluent_kafka as kafka
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from risingpy.connectors.targets.kafka import KafkaTarget
from risingpy.connectors.targets.kafka_topics import NewTopicRule
from risingpy.connectors.targets.options import Options

COLUMNS = (("id", BIGINT), ("name", VARCHAR))


@pytest.fixture
def topic(kafka_broker: KafkaBroker) -> str:
    name = "t" + uuid.uuid4().hex[:8]
    admin = AdminClient({"bootstrap.servers": kafka_broker.address, "log_level": 0})
    admin.create_topics([NewTopic(name, 2, 1)])[name].result()
    return name


def schema_of(topic: str, type_: SinkType = SinkType.UPSERT) -> SinkSchema:
    return SinkSchema(f"sink_of_{topic}", COLUMNS, (0,), type_)


def options_of(broker: KafkaBroker, topic: str, **more: str) -> dict[str, str]:
    return {"connector": "kafka", "properties.bootstrap.server": broker.address, "topic": topic, **more}


def messages_of(broker: KafkaBroker, topic: str, isolation: str = "read_committed") -> list[tuple[Any, Any]]:
    """Key and value of each message, partition by partition."""
    reader = {"group.id": "test", "enable.auto.commit": False, "enable.partition.eof": True, "log_level": 0}
    consumer = kafka.Consumer({"bootstrap.servers": broker.address, "isolation.level": isolation, **reader})
    found: list[tuple[Any, Any]] = []
    for partition in range(2):
        consumer.assign([kafka.TopicPartition(topic, partition, 0)])
        while True:
            message = consumer.poll(10)
            assert message is not None
            error = message.error()
            if error is not None:
                assert error.name() == "_PARTITION_EOF"
                break
            value = message.value()
            found.append((json.loads(message.key() or b"null"), None if value is None else json.loads(value)))
    consumer.close()
    return found


def test_upserts_and_tombstones(kafka_broker: KafkaBroker, topic: str) -> None:
    schema = schema_of(topic)
    target = KafkaTarget(options_of(kafka_broker, topic), schema)
    target.check()
    assert target.open() is None
    target.deliver(5, [changes_of(schema, [(1, ["1", "a"]), (1, ["2", None])])])
    target.deliver(6, [changes_of(schema, [(-1, ["1", "a"]), (-1, ["2", None]), (1, ["1", "A"])])])
    target.deliver(7, [])
    target.close()
    messages = messages_of(kafka_broker, topic)
    assert [value for key, value in messages if key == {"id": 1}] == [{"id": 1, "name": "a"}, {"id": 1, "name": "A"}]
    assert [value for key, value in messages if key == {"id": 2}] == [{"id": 2, "name": None}, None]
    again = KafkaTarget(options_of(kafka_broker, topic), schema)
    assert again.open() == 7
    again.close()


def test_each_sink_has_its_own_progress(kafka_broker: KafkaBroker, topic: str) -> None:
    names = [f"{topic}_{n}" for n in range(3)]
    targets = [
        KafkaTarget(options_of(kafka_broker, topic), SinkSchema(name, COLUMNS, (0,), SinkType.UPSERT)) for name in names
    ]
    for epoch, target in enumerate(targets, start=10):
        assert target.open() is None
        target.deliver(epoch, [])
        target.close()
    assert [target.open() for target in targets] == [10, 11, 12]
    for target in targets:
        target.close()


def test_kills_between_all_steps(kafka_broker: KafkaBroker, topic: str) -> None:
    schema = schema_of(topic, SinkType.APPEND_ONLY)
    count = 7

    def changes(epoch: int) -> list[Any]:
        rows = [(1, [str(epoch), f"row {n}"]) for n in range(count)]
        return [changes_of(schema, rows[:3]), changes_of(schema, rows[3:])]

    def check(epoch: int) -> None:
        if epoch % 8 == 0:
            check_all(epoch)

    def check_all(epoch: int) -> None:
        read = sorted((value["id"], value["name"]) for _, value in messages_of(kafka_broker, topic))
        assert read == [(past, f"row {n}") for past in range(1, epoch + 1) for n in range(count)]

    make = partial(KafkaTarget, options_of(kafka_broker, topic), schema)
    # The pause is for librdkafka's thread, so that there are messages in Kafka when the kill comes.
    kills = kill_everywhere(make, changes, check, step=2, pause=0.05)
    check_all(kills + 1)
    assert kills > 8
    # The kills came after messages had been sent, too: read without isolation there are more.
    assert len(messages_of(kafka_broker, topic, "read_uncommitted")) > (kills + 1) * count


def test_an_epoch_that_kafka_has_is_found_after_a_kill(kafka_broker: KafkaBroker, topic: str) -> None:
    schema = schema_of(topic)
    target = KafkaTarget(options_of(kafka_broker, topic), schema)
    changes = [changes_of(schema, [(1, ["1", "a"])])]
    target.deliver(3, changes)
    target.deliver(3, changes)
    target.close()
    target.deliver(3, changes)  # closed: as after an error, it looks first
    target.close()
    assert len(messages_of(kafka_broker, topic)) == 1


def test_a_zombie_is_fenced(kafka_broker: KafkaBroker, topic: str) -> None:
    schema = schema_of(topic)
    old, new = (KafkaTarget(options_of(kafka_broker, topic), schema) for _ in range(2))
    old.open()
    new.open()
    with pytest.raises(TargetUnavailable):
        old.deliver(1, [changes_of(schema, [(1, ["1", "old"])])])
    # The new one is fenced by whoever opens after it, and by nobody else.
    new.deliver(1, [changes_of(schema, [(1, ["1", "new"])])])
    new.close()
    old.close()
    assert [value["name"] for _, value in messages_of(kafka_broker, topic)] == ["new"]


def test_many_messages_in_order(kafka_broker: KafkaBroker, topic: str) -> None:
    """More than are unsent at once; each key's messages stay in their order."""
    schema = schema_of(topic, SinkType.APPEND_ONLY)
    count = 100_000
    target = KafkaTarget(options_of(kafka_broker, topic), schema)
    target.deliver(1, [changes_of(schema, [(1, [str(n % 10), str(n)]) for n in range(count)])])
    target.close()
    read = messages_of(kafka_broker, topic)
    assert len(read) == count
    for key in range(10):
        numbers = [int(value["name"]) for k, value in read if k["id"] == key]
        assert numbers == sorted(numbers)


def test_other_formats(kafka_broker: KafkaBroker, topic: str) -> None:
    schema = schema_of(topic, SinkType.DEBEZIUM)
    target = KafkaTarget(options_of(kafka_broker, topic), schema, MessageFormat("debezium", "json"))
    target.deliver(1, [changes_of(schema, [(1, ["1", "a"])])])
    target.close()
    [(key, value)] = messages_of(kafka_broker, topic)
    assert key["payload"] == {"id": 1}
    assert value["payload"]["after"] == {"id": 1, "name": "a"}


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"colour": "red"}, 'unknown option "colour" of the kafka sink'),
        ({"topic": ""}, "needs the option topic"),
        ({"properties.transactional.id": "x"}, "cannot be changed"),
    ],
)
def test_wrong_options(kafka_broker: KafkaBroker, more: dict[str, str], text: str) -> None:
    with pytest.raises(InvalidParameterValue, match=text):
        KafkaTarget({**options_of(kafka_broker, "t"), **more}, schema_of("t"))


def test_what_librdkafka_does_not_know_is_named(kafka_broker: KafkaBroker, topic: str) -> None:
    target = KafkaTarget(options_of(kafka_broker, topic, **{"properties.no.such": "1"}), schema_of(topic))
    with pytest.raises(InvalidParameterValue, match=r'No such configuration property: "no\.such"'):
        target.check()


def test_a_missing_topic_is_named(kafka_broker: KafkaBroker) -> None:
    started = time.monotonic()
    never = {"properties.allow.auto.create.topics": "false"}
    with pytest.raises(UndefinedTable, match='no topic "nowhere"') as raised:
        KafkaTarget(options_of(kafka_broker, "nowhere", **never), schema_of("t")).check()
    assert "topic.partitions" in str(raised.value.hint)
    assert time.monotonic() - started < 5
    assert "nowhere" not in topics_of(kafka_broker)


def topics_of(broker: KafkaBroker) -> dict[str, int]:
    """How many partitions each topic has."""
    topics = AdminClient({"bootstrap.servers": broker.address}).list_topics(timeout=5).topics
    return {name: len(found.partitions) for name, found in topics.items()}


@pytest.mark.parametrize(
    ("options", "partitions"),
    [({"topic.partitions": "3"}, 3), ({"properties.allow.auto.create.topics": "true"}, None)],
)
def test_a_missing_topic_is_made(kafka_broker: KafkaBroker, options: dict[str, str], partitions: int | None) -> None:
    name = f"made-{uuid.uuid4().hex[:8]}"
    schema = schema_of(name)
    for _ in range(2):  # the second time it is there
        target = KafkaTarget(options_of(kafka_broker, name, **options), schema)
        target.check()
    target.deliver(1, [changes_of(schema, [(1, ["1", "a"])])])
    target.close()
    assert topics_of(kafka_broker)[name] == (partitions or topics_of(kafka_broker)[name])


class _Admin:
    """An AdminClient whose brokers say of a topic that is asked for by its name what `errors` says, time by time."""

    def __init__(self, *errors: int | None) -> None:
        self._errors = list(errors)

    def list_topics(self, topic: str, timeout: float) -> Any:
        code = self._errors.pop(0) if len(self._errors) > 1 else self._errors[0]
        error = None if code is None else kafka.KafkaError(code)
        return SimpleNamespace(topics={topic: SimpleNamespace(error=error)})


def test_brokers_that_make_topics_may_take_a_moment() -> None:
    rule = NewTopicRule.of(Options("the kafka sink", {}))
    unknown, leaderless = kafka.KafkaError.UNKNOWN_TOPIC_OR_PART, kafka.KafkaError.LEADER_NOT_AVAILABLE
    rule.make(_Admin(unknown, leaderless, None), "t")
    with pytest.raises(UndefinedTable, match='no topic "t"'):
        rule.make(_Admin(unknown), "t")


def test_a_dead_broker_is_unavailable_and_no_password_is_told() -> None:
    options = {
        "connector": "kafka",
        "topic": "t",
        "properties.bootstrap.server": "127.0.0.1:1",
        "properties.security.protocol": "SASL_PLAINTEXT",
        "properties.sasl.mechanism": "PLAIN",
        "properties.sasl.username": "me",
        "properties.sasl.password": "hunter2",
    }
    started = time.monotonic()
    with pytest.raises(TargetUnavailable) as raised:
        KafkaTarget(options, schema_of("t")).check()
    assert time.monotonic() - started < 5
    assert raised.value.sqlstate == "HV00N"
    assert "hunter2" not in raised.value.message


def test_a_message_that_is_too_large_is_a_permanent_error(kafka_broker: KafkaBroker, topic: str) -> None:
    schema = schema_of(topic)
    target = KafkaTarget(options_of(kafka_broker, topic), schema)
    with pytest.raises(SqlError, match="Kafka") as raised:
        target.deliver(1, [changes_of(schema, [(1, ["1", "a"]), (1, ["2", "x" * 2_000_000])])])
    assert not isinstance(raised.value, TargetUnavailable)
    target.deliver(1, [changes_of(schema, [(1, ["1", "a"])])])
    target.close()
    assert len(messages_of(kafka_broker, topic)) == 1
