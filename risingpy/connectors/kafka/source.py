"""A Kafka topic as a source: each partition is a split, and an offset is a position.

A range ends at the partition's last stable offset, so transactions that are open or aborted are never read. Offsets
have gaps where transactions end and where the topic is compacted.
"""

from __future__ import annotations

import time
import uuid
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa
from confluent_kafka import Consumer, IsolationLevel, KafkaError, KafkaException, Message, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec, TopicMetadata

from risingpy.connectors.kafka.options import KafkaOptions, StartupMode, kafka_options
from risingpy.connectors.seekable import MESSAGES, MessageReader, RowReader, SplitEnd, Splits
from risingpy.errors import InternalError, InvalidParameterValue, SourceUnavailable

CHECK_SECONDS = 4.0
ANSWER_SECONDS = 10.0  # after which the broker counts as gone
DISCOVERY_SECONDS = 5.0  # how often partitions and their first offsets are asked for
SLICE_SECONDS = 0.02  # `consume` waits so long for a batch that is not full
MOST_CONSUMERS = 32  # of a process and source: each has threads
BATCH = 10_000
LATEST = 253_402_300_799_999  # milliseconds: the end of the year 9999; a producer may say anything
FETCHED_AHEAD = 20_000  # messages: what is fetched beyond a range is thrown away

_QUIET: dict[str, Any] = {"log_level": 0, "error_cb": lambda error: None}
_TIMESTAMP = MESSAGES.field("timestamp").type
_NO_TOPIC = (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC, KafkaError._UNKNOWN_PARTITION)


class KafkaConnector:
    """`connector = 'kafka'`. Exactly once: offsets are committed with the epoch, and read again after a crash."""

    name = "kafka"
    gives_messages = True

    def __init__(self, options: Mapping[str, str]) -> None:
        """Raises InvalidParameterValue if an option is missing, unknown or wrong."""
        self._options = kafka_options(options)

    def check(self) -> None:
        """The broker answers, and has the topic; librdkafka takes the options for consumers, too."""
        with _answered(self._options):
            client = _admin(self._options)
            found = _topic(client, self._options, CHECK_SECONDS)
        if found is None:
            raise InvalidParameterValue(f'topic "{self._options.topic}" does not exist')
        with _answered(self._options):
            _PartitionReader(self._options, partition=0).close()

    def splits(self) -> Splits:
        return _Partitions(self._options)

    def message_reader(self) -> MessageReader:
        return _KafkaReader(self._options)

    def row_reader(self) -> RowReader:
        raise InternalError("Kafka has messages")


def check_brokers(options: Mapping[str, str]) -> None:
    """Reaches the brokers of options that name no topic. Raises SourceUnavailable, InvalidParameterValue."""
    checked = kafka_options({**options, "topic": "none"})
    with _answered(checked):
        _admin(checked).list_topics(timeout=CHECK_SECONDS)


class _Partitions:
    """The partitions of the topic. New ones are found within `DISCOVERY_SECONDS`."""

    def __init__(self, options: KafkaOptions) -> None:
        self._options = options
        with _answered(options):
            self._client = _admin(options)
        self._firsts: dict[int, int] = {}
        self._since: dict[int, int] = {}
        self._discover_at = 0.0

    def ends(self) -> Mapping[str, SplitEnd]:
        with _answered(self._options):
            if time.monotonic() >= self._discover_at:
                self._discover()
            ends = self._offsets(OffsetSpec.latest(), self._firsts)
        return {str(k): SplitEnd(first, ends[k], self._start(k, first, ends[k])) for k, first in self._firsts.items()}

    def close(self) -> None:
        """Does nothing: the client ends when it is collected."""

    def _discover(self) -> None:
        topic = _topic(self._client, self._options, ANSWER_SECONDS)
        if topic is None:
            raise SourceUnavailable(f'topic "{self._options.topic}" does not exist')
        partitions = sorted(topic.partitions)
        self._firsts = self._offsets(OffsetSpec.earliest(), partitions)
        new = [k for k in partitions if k not in self._since]
        if self._options.startup is StartupMode.TIMESTAMP and new:
            self._since |= self._offsets(OffsetSpec.for_timestamp(self._options.since), new, may_lack=True)
        self._discover_at = time.monotonic() + DISCOVERY_SECONDS

    def _start(self, partition: int, first: int, end: int) -> int:
        if self._options.startup is StartupMode.EARLIEST:
            return first
        if self._options.startup is StartupMode.LATEST:
            return end
        since = self._since.get(partition, -1)
        return max(since, first) if since >= 0 else end  # no message is as late

    def _offsets(
        self, spec: OffsetSpec, partitions: Sequence[int] | Mapping[int, int], *, may_lack: bool = False
    ) -> dict[int, int]:
        """The offsets by partition; with `may_lack`, −1 where no message is as late. Raises SourceUnavailable."""
        asked = {TopicPartition(self._options.topic, k): spec for k in partitions}
        futures = self._client.list_offsets(
            asked, isolation_level=IsolationLevel.READ_COMMITTED, request_timeout=ANSWER_SECONDS
        )
        found = {asked.partition: future.result().offset for asked, future in futures.items()}
        for partition, offset in found.items():
            if offset < 0 and not may_lack:  # the answer of a broker that hangs, or that leads it no longer
                raise SourceUnavailable(f"the broker of partition {partition} does not know where it ends")
        return found


class _KafkaReader:
    """A consumer for each partition that is read."""

    def __init__(self, options: KafkaOptions) -> None:
        self._options = options
        self._partitions: OrderedDict[int, _PartitionReader] = OrderedDict()

    def read(self, split: str, start: int, end: int) -> pa.Table:
        partition = int(split)
        reader = self._reader(partition)
        try:
            with _answered(self._options):
                return reader.read(start, end)
        except SourceUnavailable:  # where the consumer stands is not known
            self._partitions.pop(partition).close()
            raise

    def _reader(self, partition: int) -> _PartitionReader:
        with _answered(self._options):
            reader = self._partitions.pop(partition, None) or _PartitionReader(self._options, partition)
        self._partitions[partition] = reader
        if len(self._partitions) > MOST_CONSUMERS:
            _, oldest = self._partitions.popitem(last=False)
            oldest.close()
        return reader

    def close(self) -> None:
        for reader in self._partitions.values():
            reader.close()
        self._partitions.clear()


class _PartitionReader:
    """Fetches only while it reads: at the end of a partition a consumer would ask again and again."""

    def __init__(self, options: KafkaOptions, partition: int) -> None:
        self._topic = options.topic
        self._partition = partition
        self._consumer = Consumer(
            {
                **_QUIET,
                "fetch.wait.max.ms": 50,
                "queued.min.messages": FETCHED_AHEAD,
                **options.client,
                "group.id": f"{options.group_prefix}-{uuid.uuid4().hex}",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "auto.offset.reset": "error",
                "isolation.level": "read_committed",
            }
        )

    def read(self, start: int, end: int) -> pa.Table:
        self._consumer.assign([TopicPartition(self._topic, self._partition, start)])
        try:
            return _table(self._received(start, end))
        finally:
            self._consumer.unassign()

    def _received(self, start: int, end: int) -> list[Message]:
        found: list[Message] = []
        silent_since, position = time.monotonic(), start
        while position < end:
            batch = self._consumer.consume(min(BATCH, end - position), SLICE_SECONDS)
            messages, position = self._messages(batch, position)
            found += messages
            if batch:
                silent_since = time.monotonic()
            elif time.monotonic() - silent_since > ANSWER_SECONDS:
                raise SourceUnavailable(f"partition {self._partition} gives no messages before offset {end}")
        while found and _offset(found[-1]) >= end:  # there was a gap before the end
            found.pop()
        return found

    def close(self) -> None:
        self._consumer.close()

    @staticmethod
    def _messages(batch: list[Message], position: int) -> tuple[list[Message], int]:
        """The messages of a batch, and the position after it, which may be said to be the partition's end."""
        good = [message for message in batch if message.error() is None]
        if good:
            position = _offset(good[-1]) + 1
        if len(good) < len(batch):
            for message in batch:
                error = message.error()
                if error is not None:
                    if error.code() != KafkaError._PARTITION_EOF:
                        raise KafkaException(error)
                    position = max(position, _offset(message))
        return good, position


def _offset(message: Message) -> int:
    """The offset, which every message of a consumer has."""
    offset: int | None = message.offset()
    assert offset is not None
    return offset


def _table(messages: list[Message]) -> pa.Table:
    """The messages by column. librdkafka's binding makes an object of each; these loops only call its methods."""
    headers = [_headers_of(message) for message in messages]
    milliseconds = np.array([message.timestamp()[1] for message in messages], np.int64)
    arrays = [
        pa.array([message.key() for message in messages], pa.binary()),
        pa.array([message.value() for message in messages], pa.binary()),
        pa.array([message.offset() for message in messages], pa.int64()),
        pa.array(milliseconds * 1000, mask=(milliseconds < 0) | (milliseconds > LATEST)).cast(_TIMESTAMP),
        _headers(headers),
    ]
    return pa.Table.from_arrays(arrays, schema=MESSAGES)


def _headers_of(message: Message) -> Any:
    """A message's headers; None for those with a name that is no UTF-8, for which the library raises an error."""
    try:
        return message.headers()
    except (UnicodeDecodeError, SystemError):
        return None


def _headers(headers: Sequence[Any]) -> pa.Array:
    type_ = MESSAGES.field("headers").type
    if not any(headers):
        return pa.nulls(len(headers), type_)
    pairs = [None if found is None else [{"key": key, "value": value} for key, value in found] for found in headers]
    return pa.array(pairs, type_)


def _topic(client: AdminClient, options: KafkaOptions, seconds: float) -> TopicMetadata | None:
    """The topic; None if there is none. All topics are asked for, since a broker may make one that is asked for."""
    found = client.list_topics(timeout=seconds).topics.get(options.topic)
    return None if found is None or found.error is not None or not found.partitions else found


def _admin(options: KafkaOptions) -> AdminClient:
    return AdminClient({**_QUIET, "socket.timeout.ms": 8_000, **options.client})


@contextmanager
def _answered(options: KafkaOptions) -> Iterator[None]:
    """Raises SourceUnavailable for what the broker does not do, InvalidParameterValue for options it has not."""
    try:
        yield
    except KafkaException as error:
        code, text = error.args[0].code(), error.args[0].str()
        if code in _NO_TOPIC:
            raise SourceUnavailable(f'topic "{options.topic}" does not exist') from error
        if code == KafkaError._INVALID_ARG:
            raise InvalidParameterValue(f"invalid option of the kafka connector: {text}") from error
        servers = options.client["bootstrap.servers"]
        raise SourceUnavailable(f"the broker at {servers} does not answer: {text}") from error
