"""Sinks to Kafka: `connector = 'kafka'`."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import repeat
from types import MappingProxyType

import confluent_kafka as kafka
import pyarrow as pa
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from risingpy.connectors.formats.decoder import MessageFormat
from risingpy.connectors.kafka.options import SERVERS, refuse_code
from risingpy.connectors.targets.encoders.changes import no_changes, whole
from risingpy.connectors.targets.encoders.choice import encoder_of
from risingpy.connectors.targets.encoders.encoder import Messages
from risingpy.connectors.targets.kafka_topics import CREATES, PARTITIONS, REPLICATION, NewTopicRule
from risingpy.connectors.targets.options import Options
from risingpy.connectors.targets.target import SinkSchema
from risingpy.errors import InvalidParameterValue, SqlError, TargetUnavailable

Config = dict[str, str | int | float | bool]

PROGRESS_TOPIC = "risingpy-sink-progress"
_OPTIONS = ("topic", "kafka.brokers", "transactional.id", "progress.topic", PARTITIONS, REPLICATION)
_PREFIX = "properties."
# librdkafka's own defaults, said here since `_SLICE_ROWS` and `_UNSENT_BYTES` must stay below them.
_QUEUE = {"queue.buffering.max.messages": 500_000, "queue.buffering.max.kbytes": 1_048_576}
_OURS = ("bootstrap.servers", "transactional.id", "enable.idempotence", *_QUEUE)
_SLICE_ROWS = 20_000
_UNSENT_MESSAGES = 60_000
_UNSENT_BYTES = 256 << 20
_CHECK_SECONDS = 4.0
_OPEN_SECONDS = 10.0
_OTHER_SINKS_SECONDS = 60.0  # Kafka's default for how long a dead producer's transaction stays open
_COMMIT_SECONDS = 60.0

_PERMANENT: Mapping[str, str] = MappingProxyType(
    {
        "UNKNOWN_TOPIC_OR_PART": "42P01",
        "TOPIC_EXCEPTION": "42602",
        "MSG_SIZE_TOO_LARGE": "54000",
        "INVALID_RECORD": "22000",
        "TOPIC_AUTHORIZATION_FAILED": "42501",
        "TRANSACTIONAL_ID_AUTHORIZATION_FAILED": "42501",
        "CLUSTER_AUTHORIZATION_FAILED": "42501",
        "POLICY_VIOLATION": "42501",
        "_INVALID_ARG": "22023",
    }
)
"""SQLSTATEs of the errors that a later attempt would meet again, by librdkafka's names. All others may pass."""


class KafkaTarget:
    """A `SinkTarget` that writes messages to a topic. Exactly once for readers that read committed messages.

    An epoch is one transaction of Kafka. Its messages and a record (sink → epoch) of the compacted progress topic
    become visible together, or not at all. Opening fences whatever an earlier server left: `init_transactions` aborts
    its open transaction and refuses its commits. Then the progress topic tells the last epoch that is there. A reader
    with `isolation.level = read_uncommitted` sees messages of aborted transactions, too.
    """

    keeps_epochs = True

    def __init__(
        self, options: Mapping[str, str], schema: SinkSchema, message_format: MessageFormat | None = None
    ) -> None:
        """Raises InvalidParameterValue or FeatureNotSupported; connects to nothing."""
        self._options = Options("the kafka sink", options)
        self._options.refuse_unknown(_OPTIONS, (_PREFIX,))
        self._topic = self._options.required("topic")
        self._progress_topic = self._options.text("progress.topic", PROGRESS_TOPIC)
        self._id = self._options.text("transactional.id", f"risingpy-sink-{schema.name}")
        self._new_topic = NewTopicRule.of(self._options)
        self._config = self._client_options()
        self._schema = schema
        self._encoder = encoder_of(message_format, schema, self._topic)
        self._producer: kafka.Producer | None = None
        self._last: int | None = None  # the last epoch that Kafka has, while there is a producer

    def check(self) -> None:
        """Asks for the topic, and makes it as the options or the broker's rule allow. Raises SqlError within 5 s."""
        with self._errors():
            self._producer_of(self._config)  # librdkafka reads the options
            admin = AdminClient(self._config)
            if self._topic not in admin.list_topics(timeout=_CHECK_SECONDS / 2).topics:
                self._new_topic.make(admin, self._topic)
        self._encoder.encode(no_changes(self._schema))  # a registry must answer, and its schema take the columns

    def open(self) -> int | None:
        self.close()
        with self._errors():
            self._make_progress_topic()
            transactional: Config = {"transactional.id": self._id, "enable.idempotence": True, **_QUEUE}
            producer = self._producer_of({**self._config, **transactional})
            self._producer = producer
            producer.init_transactions(_OPEN_SECONDS)
            self._last = self._delivered()
            return self._last

    def deliver(self, epoch: int, changes: Sequence[pa.Table]) -> None:
        if self._producer is None:
            self.open()  # an error came before, perhaps after Kafka had committed: only the progress topic knows
        if self._last is not None and self._last >= epoch:
            return
        producer = self._producer
        assert producer is not None
        with self._errors():
            producer.begin_transaction()
            if any(table.num_rows for table in changes):
                self._send(producer, self._encoder.encode(whole(changes)))
            producer.produce(self._progress_topic, str(epoch).encode(), self._id.encode())
            producer.commit_transaction(_COMMIT_SECONDS)
            self._last = epoch

    def close(self) -> None:
        producer, self._producer = self._producer, None
        if producer is not None:
            # Nothing may be sent any more. An open transaction stays so until this or another server opens the sink.
            producer.purge()

    def _send(self, producer: kafka.Producer, messages: Messages) -> None:
        """Hands all messages to librdkafka, which sends them meanwhile; its queue never overflows."""
        unsent = 0
        for start in range(0, len(messages), _SLICE_ROWS):
            values, keys = messages.values.slice(start, _SLICE_ROWS), messages.keys.slice(start, _SLICE_ROWS)
            unsent += values.nbytes + keys.nbytes
            if unsent > _UNSENT_BYTES:
                producer.flush(_COMMIT_SECONDS)
                unsent = values.nbytes + keys.nbytes
            self._wait_for_room(producer)
            # The loop over messages is C's: of a deque that keeps nothing, and of map.
            deque(map(producer.produce, repeat(self._topic), values.to_pylist(), keys.to_pylist()), maxlen=0)

    def _wait_for_room(self, producer: kafka.Producer) -> None:
        deadline = time.monotonic() + _COMMIT_SECONDS
        while len(producer) > _UNSENT_MESSAGES:
            producer.poll(0.01)
            if time.monotonic() > deadline:
                raise TargetUnavailable("Kafka: messages are not taken in time")

    def _make_progress_topic(self) -> None:
        admin = AdminClient(self._config)
        if self._progress_topic in admin.list_topics(timeout=_OPEN_SECONDS).topics:
            return
        topic = NewTopic(self._progress_topic, 1, config={"cleanup.policy": "compact"})
        try:
            admin.create_topics([topic], operation_timeout=_OPEN_SECONDS)[self._progress_topic].result(_OPEN_SECONDS)
        except kafka.KafkaException as error:
            if error.args[0].code() != kafka.KafkaError.TOPIC_ALREADY_EXISTS:
                raise

    def _delivered(self) -> int | None:
        """The epoch of the newest committed record of this sink in the progress topic.

        Committed records end where the oldest open transaction of any sink begins, which may be before this sink's
        newest record. So this reads up to the end that the topic had, and waits for such transactions to end.
        """
        partition = kafka.TopicPartition(self._progress_topic, 0, 0)
        reader = {
            "group.id": self._id,
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "fetch.wait.max.ms": 20,
        }
        consumer = kafka.Consumer({**self._config, **reader, "isolation.level": "read_committed"})
        try:
            first, end = consumer.get_watermark_offsets(partition, timeout=_OPEN_SECONDS)
            if first >= end:
                return None
            partition.offset = first
            consumer.assign([partition])
            return self._newest(consumer, partition, end)
        finally:
            consumer.close()

    def _newest(self, consumer: kafka.Consumer, partition: kafka.TopicPartition, end: int) -> int | None:
        newest = None
        deadline = time.monotonic() + _OTHER_SINKS_SECONDS
        while consumer.position([partition])[0].offset < end:
            for message in consumer.consume(1000, 0.02):
                error = message.error()
                if error is not None and error.name() != "_PARTITION_EOF":
                    raise kafka.KafkaException(error)
                if error is None and message.key() == self._id.encode():
                    newest = int(message.value() or b"0")
            if time.monotonic() > deadline:
                raise TargetUnavailable(f'Kafka: a transaction on topic "{self._progress_topic}" does not end')
        return newest

    def _producer_of(self, config: Config) -> kafka.Producer:
        try:
            return kafka.Producer(config)
        except kafka.KafkaException as error:
            message = self._options.masked(error.args[0].str())
            raise InvalidParameterValue(f"the kafka sink cannot use its options: {message}") from None

    def _client_options(self) -> Config:
        """The options for librdkafka: `properties.x` is its `x`."""
        named = next((name for name in ("kafka.brokers", *SERVERS) if self._options.text(name)), SERVERS[0])
        brokers = self._options.required(named)
        config: Config = {"bootstrap.servers": brokers, "log_level": 0}
        for name, value in self._options.values.items():
            if not name.startswith(_PREFIX) or name in (*SERVERS, CREATES):
                continue
            theirs = name.removeprefix(_PREFIX)
            if theirs in _OURS:
                raise InvalidParameterValue(f"the option {name} of the kafka sink cannot be changed")
            refuse_code(theirs)
            config[theirs] = value
        return config

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Kafka's errors as ours. After one the producer is closed, which aborts its transaction."""
        try:
            yield
        except kafka.KafkaException as raised:
            self.close()
            error = raised.args[0]
            message = f"Kafka: {self._options.masked(error.str() or error.name())}"
            if error.name() in _PERMANENT:
                raise SqlError(message, sqlstate=_PERMANENT[error.name()]) from None
            raise TargetUnavailable(message) from None
        except SqlError:
            self.close()
            raise
