"""A stream of NATS JetStream as a source: the stream is the split, and a message's sequence number its position.

A range is read by a consumer of its own that acknowledges nothing and ends with the range: where views stand, the
engine knows. Numbers have gaps where messages of other subjects are, and where messages were deleted.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy, RetentionPolicy
from nats.js.errors import NotFoundError

from risingpy.connectors.jetstream.consumer import Consumer
from risingpy.connectors.jetstream.options import Beginning, JetStreamOptions, jetstream_options
from risingpy.connectors.nats_client import connected, nats_errors
from risingpy.connectors.seekable import MESSAGES, MessageReader, RowReader, SplitEnd, Splits
from risingpy.errors import InternalError, InvalidParameterValue, SourceUnavailable, SqlError

ANSWER_SECONDS = 10.0  # after which the server counts as gone
BATCH = 5_000
_IDLE_SECONDS = 60.0  # after which the server forgets a consumer whose reader was killed
_SHORT_REPLY = 9  # tokens
_MESSAGES = MESSAGES.append(pa.field("subject", pa.string()))
Answer = TypeVar("Answer")


class JetStreamConnector:
    """`connector = 'nats'`. Exactly once: numbers are committed with the epoch, and read again after a crash."""

    name = "nats"
    gives_messages = True

    def __init__(self, options: Mapping[str, str]) -> None:
        """Raises InvalidParameterValue if an option is missing, unknown or wrong."""
        self._options = jetstream_options(options)

    def check(self) -> None:
        """The server answers and has the stream, and this has the subjects."""
        client = _Client(self._options)
        try:
            client.run(client.stream)
            client.run(lambda: _check_stream(client))
        finally:
            client.close()

    def splits(self) -> Splits:
        return _Stream(self._options)

    def message_reader(self) -> MessageReader:
        return _JetStreamReader(self._options)

    def row_reader(self) -> RowReader:
        raise InternalError("NATS has messages")


@dataclass(frozen=True, slots=True)
class _StreamState:
    """The numbers of a stream's first message, and of the next one that comes."""

    first: int
    end: int


class _Client:
    """A connection, made when it is first needed, and its event loop, which runs while somebody waits for an answer."""

    def __init__(self, options: JetStreamOptions) -> None:
        self.options = options
        self._loop = asyncio.Runner()
        self._connection: Any = None

    def run(self, work: Callable[[], Awaitable[Answer]]) -> Answer:
        """What `work` returns. Raises SourceUnavailable; after any error the connection is made anew."""
        try:
            with nats_errors(self.options.connection, SourceUnavailable):
                return self._loop.run(self._answered(work))
        except BaseException:
            self._disconnect()
            raise

    async def _answered(self, work: Callable[[], Awaitable[Answer]]) -> Answer:
        if self._connection is None or self._connection.is_closed:
            self._connection = await connected(self.options.connection)
        return await work()

    @property
    def jetstream(self) -> Any:
        return self._connection.jetstream(timeout=ANSWER_SECONDS)

    async def stream(self) -> _StreamState:
        try:
            found = (await self.jetstream.stream_info(self.options.stream)).state
        except NotFoundError:
            raise InvalidParameterValue(f'NATS has no stream "{self.options.stream}"') from None
        return _StreamState(max(found.first_seq, 1), found.last_seq + 1)

    async def consumer(self, config: ConsumerConfig) -> Consumer:
        """A new consumer of the source's subjects."""
        config.ack_policy = AckPolicy.NONE
        config.inactive_threshold = _IDLE_SECONDS
        config.mem_storage = True
        config.filter_subjects = list(self.options.subjects)
        made = await self.jetstream.add_consumer(self.options.stream, config)
        consumer = Consumer(self._connection, self.options.stream, made.name, made.num_pending or 0)
        await consumer.open()
        return consumer

    async def delete(self, consumer: Consumer) -> None:
        """Ends a consumer. The server would forget it anyway, later."""
        await consumer.close()
        await self.jetstream.delete_consumer(self.options.stream, consumer.name)

    def close(self) -> None:
        self._disconnect()
        self._loop.close()

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(Exception):  # it is gone, whatever the library says of it
                self._loop.run(asyncio.wait_for(connection.close(), 1))


class _Stream:
    """The only split: the stream, by its name."""

    def __init__(self, options: JetStreamOptions) -> None:
        self._options = options
        self._client = _Client(options)
        self._since: int | None = None

    def ends(self) -> Mapping[str, SplitEnd]:
        try:
            state = self._client.run(self._client.stream)
            start = self._start(state)
        except InvalidParameterValue as error:  # it was there at CREATE
            raise SourceUnavailable(str(error)) from None
        return {self._options.stream: SplitEnd(state.first, state.end, start)}

    def close(self) -> None:
        self._client.close()

    def _start(self, state: _StreamState) -> int:
        match self._options.beginning:
            case Beginning.EARLIEST:
                return state.first
            case Beginning.LATEST:
                return state.end
            case Beginning.TIMESTAMP:
                if self._since is None:
                    self._since = self._client.run(self._first_since)
                return max(self._since or state.end, state.first)

    async def _first_since(self) -> int | None:
        """The number of the first message of the time; None if there is none yet."""
        assert self._options.since is not None
        config = ConsumerConfig(deliver_policy=DeliverPolicy.BY_START_TIME, opt_start_time=self._options.since)
        consumer = await self._client.consumer(config)
        try:
            found = await consumer.fetch(1, ANSWER_SECONDS) if consumer.pending else ()
            return int(found[0].metadata.sequence.stream) if found else None
        finally:
            await self._client.delete(consumer)


class _JetStreamReader:
    def __init__(self, options: JetStreamOptions) -> None:
        self._client = _Client(options)

    def read(self, split: str, start: int, end: int) -> pa.Table:
        try:
            return _table(self._client.run(lambda: self._received(start, end)))
        except SourceUnavailable:
            raise
        except SqlError as error:  # a task cannot do more than to leave the source out for a while
            raise SourceUnavailable(str(error)) from None

    def close(self) -> None:
        self._client.close()

    async def _received(self, start: int, end: int) -> list[Any]:
        config = ConsumerConfig(deliver_policy=DeliverPolicy.BY_START_SEQUENCE, opt_start_seq=start)
        consumer = await self._client.consumer(config)
        found: list[Any] = []
        try:
            left, position = consumer.pending, start
            while left and position < end:
                batch = await consumer.fetch(min(BATCH, end - position, left), ANSWER_SECONDS)
                if not batch:
                    raise SourceUnavailable("NATS gives no messages that it has said to have")
                found += batch
                position, left = _sequence(batch[-1]) + 1, batch[-1].metadata.num_pending
        finally:
            await self._client.delete(consumer)
        if position < end and not left:
            # Messages that were deleted are passed over, but the stream must have been as long as that once.
            there = (await self._client.stream()).end
            if there < end:
                raise SourceUnavailable(f"the stream ends before message {there}, and was longer: it was made anew")
        while found and _sequence(found[-1]) >= end:  # there was a gap before the end
            found.pop()
        return found


async def _check_stream(client: _Client) -> None:
    """Raises SqlError if the stream keeps messages for consumers only, or if nobody may make ours."""
    retention = (await client.jetstream.stream_info(client.options.stream)).config.retention
    if retention != RetentionPolicy.LIMITS:
        message = f'stream "{client.options.stream}" deletes messages that its consumers have acknowledged'
        hint = f"Its retention is {retention}. A source needs one of limits, whose messages can be read again."
        raise InvalidParameterValue(message, hint=hint)
    await client.delete(await client.consumer(ConsumerConfig(deliver_policy=DeliverPolicy.NEW)))


def _sequence(message: Any) -> int:
    return int(message.metadata.sequence.stream)


def _table(messages: list[Any]) -> pa.Table:
    """The messages by column. The library makes an object of each; these loops only read its fields."""
    headers = [message.headers for message in messages]
    numbers, nanoseconds = _facts(pa.array([message.reply for message in messages], pa.string()))
    header_type = MESSAGES.field("headers").type
    arrays = [
        pa.nulls(len(messages), pa.binary()),
        pa.array([message.data for message in messages], pa.binary()),
        numbers,
        pc.divide(nanoseconds, 1000).cast(MESSAGES.field("timestamp").type),
        pa.array([_pairs(found) for found in headers], header_type)
        if any(headers)
        else pa.nulls(len(headers), header_type),
        pa.array([message.subject for message in messages], pa.string()),
    ]
    return pa.Table.from_arrays(arrays, schema=_MESSAGES)


def _facts(replies: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Numbers and nanoseconds since 1970 of messages, by the subjects that would acknowledge them (ADR-15 of NATS).

    $JS.ACK.<stream>.<consumer>.<delivered>.<number>.<of consumer>.<time>.<pending>, or with domain and account after
    ACK and something random at the end.
    """
    if not len(replies):
        return pa.array([], pa.int64()), pa.array([], pa.int64())
    tokens = pc.split_pattern(replies, ".")
    first = 5 if len(tokens[0]) == _SHORT_REPLY else 7
    return pc.list_element(tokens, first).cast(pa.int64()), pc.list_element(tokens, first + 2).cast(pa.int64())


def _pairs(headers: Mapping[str, str] | None) -> list[dict[str, object]] | None:
    """The headers of a message. Bytes that are no ASCII are surrogates in it, or an object of the library."""
    if headers is None:
        return None
    return [
        {"key": str(key).encode(errors="replace").decode(), "value": str(value).encode(errors="surrogateescape")}
        for key, value in headers.items()
    ]
