"""Topics of a test's broker: made, extended and written."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from typing import Any

from tests.connectors.systems.kafka import KafkaBroker

_SECONDS = 20
_WHOLE_PARTITIONS = {"receive.message.max.bytes": 1_000_000_000}  # what noida-db answers a fetch with


class Topic:
    """A topic of its own, of random name."""

    def __init__(self, broker: KafkaBroker, partitions: int = 1) -> None:
        from confluent_kafka.admin import AdminClient, NewTopic

        self.name = f"t{uuid.uuid4().hex[:8]}"
        self._address = broker.address
        self._admin = AdminClient({"bootstrap.servers": broker.address, "log_level": 0})
        for made in self._admin.create_topics([NewTopic(self.name, partitions, 1)]).values():
            made.result(_SECONDS)

    def extend(self, partitions: int) -> None:
        """Gives it more partitions, so many in all."""
        from confluent_kafka.admin import NewPartitions

        for made in self._admin.create_partitions([NewPartitions(self.name, partitions)]).values():
            made.result(_SECONDS)

    def make_anew(self) -> None:
        """Deletes the topic, and makes one of the same name with one partition."""
        from confluent_kafka.admin import NewTopic

        for gone in self._admin.delete_topics([self.name]).values():
            gone.result(_SECONDS)
        for made in self._admin.create_topics([NewTopic(self.name, 1, 1)]).values():
            made.result(_SECONDS)

    def producer(self, **options: str) -> Any:
        """A producer; options with _ for the points in their names."""
        from confluent_kafka import Producer

        named = {name.replace("_", "."): value for name, value in options.items()}
        return Producer({"bootstrap.servers": self._address, "log_level": 0, **named})

    def consumer(self, partitions: int, **options: str) -> Any:
        """A plain consumer, at the beginning of the partitions; options with _ for the points in their names."""
        from confluent_kafka import Consumer, TopicPartition

        named = {name.replace("_", "."): value for name, value in options.items()}
        consumer = Consumer(
            {"bootstrap.servers": self._address, "group.id": self.name, "log_level": 0, **_WHOLE_PARTITIONS, **named}
        )
        consumer.assign([TopicPartition(self.name, partition, 0) for partition in range(partitions)])
        return consumer

    def write(self, values: Iterable[str | bytes | None], partition: int = 0, **more: Any) -> None:
        """Writes messages, and returns when the broker has them."""
        producer = self.producer()
        for value in values:
            producer.produce(self.name, value=value, partition=partition, **more)
            producer.poll(0)
        assert producer.flush(_SECONDS) == 0

    def read_all(self) -> list[tuple[bytes | None, bytes | None]]:
        """(key, value) of every committed message of its one partition, in order. Only while nobody writes."""
        from confluent_kafka import KafkaError

        consumer = self.consumer(1, isolation_level="read_committed", enable_partition_eof="true")
        found: list[tuple[bytes | None, bytes | None]] = []
        try:
            while True:
                for message in consumer.consume(10_000, 0.2):
                    error = message.error()
                    if error is None:
                        found.append((message.key(), message.value()))
                    elif error.code() == KafkaError._PARTITION_EOF:
                        return found
                    else:
                        raise AssertionError(error)
        finally:
            consumer.close()

    def options(self) -> dict[str, str]:
        """The options of a source that reads it."""
        return {"connector": "kafka", "topic": self.name, "properties.bootstrap.server": self._address}

    def source(self, name: str, columns: str, encode: str = "FORMAT PLAIN ENCODE JSON", **more: str) -> str:
        """CREATE SOURCE; options with _ for the points in their names."""
        options = {**self.options(), **{key.replace("_", "."): value for key, value in more.items()}}
        shown = ", ".join(f"{key} = '{value}'" for key, value in options.items())
        return f"CREATE SOURCE {name} {columns} WITH ({shown}) {encode}"
