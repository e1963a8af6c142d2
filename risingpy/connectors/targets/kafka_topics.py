"""Whether a Kafka sink's topic that does not exist is made, and how."""

from __future__ import annotations

import time
from dataclasses import dataclass

import confluent_kafka as kafka
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from risingpy.connectors.targets.options import Options
from risingpy.errors import UndefinedTable

PARTITIONS, REPLICATION = "topic.partitions", "topic.replication.factor"
CREATES = "properties.allow.auto.create.topics"
_OF_BROKER = -1  # Kafka's number for the broker's own default
_SECONDS = 2.0
_PAUSE_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class NewTopicRule:
    """Made from the options of a sink.

    `is_ours`: the sink makes the topic (True), nobody does (False), or brokers do if their rule
    `auto.create.topics.enable` lets them (None). `partitions` and `replication` are those of a topic that a sink makes.
    """

    is_ours: bool | None
    partitions: int
    replication: int

    @classmethod
    def of(cls, options: Options) -> NewTopicRule:
        """Raises InvalidParameterValue for a wrong value."""
        named = [name for name in (PARTITIONS, REPLICATION) if options.text(name)]
        is_ours = options.flag(CREATES) if options.text(CREATES) else (True if named else None)
        partitions = options.number(PARTITIONS, 1, least=1, most=100_000) if PARTITIONS in named else _OF_BROKER
        replication = options.number(REPLICATION, 1, least=1, most=1_000) if REPLICATION in named else _OF_BROKER
        return cls(is_ours, partitions, replication)

    def make(self, admin: AdminClient, topic: str) -> None:
        """Makes the topic, or lets the brokers do it. Raises UndefinedTable if neither may, and KafkaException."""
        if self.is_ours:
            made = admin.create_topics([NewTopic(topic, self.partitions, self.replication)], operation_timeout=_SECONDS)
            try:
                made[topic].result(_SECONDS)
            except kafka.KafkaException as error:
                if error.args[0].code() != kafka.KafkaError.TOPIC_ALREADY_EXISTS:
                    raise
            return
        deadline = time.monotonic() + _SECONDS
        while self.is_ours is None:
            # Brokers that create topics make one that is asked for by its name. It may take them a moment.
            found = admin.list_topics(topic, timeout=_SECONDS).topics.get(topic)
            if found is not None and found.error is None:
                return
            if time.monotonic() > deadline or (found is not None and not _may_come(found.error)):
                break
            time.sleep(_PAUSE_SECONDS)
        hint = f"With {PARTITIONS} = '1' or {CREATES} = 'true' the sink makes it."
        why = "" if self.is_ours is None else f", and {CREATES} is false"
        raise UndefinedTable(f'Kafka has no topic "{topic}"{why}', hint=hint)


def _may_come(error: kafka.KafkaError) -> bool:
    """Whether the topic may be there in a moment: it is made, and has no leader yet."""
    return error.code() in (kafka.KafkaError.LEADER_NOT_AVAILABLE, kafka.KafkaError.UNKNOWN_TOPIC_OR_PART)
