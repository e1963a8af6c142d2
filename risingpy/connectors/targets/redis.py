"""Sinks to Redis: `connector = 'redis'`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import pyarrow as pa
import pyarrow.compute as pc
import redis

from risingpy.connectors.formats.decoder import MessageFormat
from risingpy.connectors.targets.encoders.changes import whole
from risingpy.connectors.targets.encoders.choice import encoder_of
from risingpy.connectors.targets.encoders.encoder import Messages
from risingpy.connectors.targets.options import Options
from risingpy.connectors.targets.target import SinkSchema, SinkType
from risingpy.errors import FeatureNotSupported, InvalidParameterValue, SqlError, TargetUnavailable

_PATIENCE_SECONDS = 30.0
_CHECK_SECONDS = 2.0
_COMMAND_KEYS = 5_000  # Redis does nothing else while it runs a command


class RedisTarget:
    """A `SinkTarget` that sets a key for each row, and deletes the keys of deleted rows. Exactly once.

    An epoch is one MULTI … EXEC, which also sets `risingpy:sink:<sink>:epoch`. The transaction watches that key, and
    ends if it has the epoch already, so of two servers that deliver an epoch, one does. What Redis loses when it
    crashes, its own settings decide (`appendfsync`): then the epoch's number is lost with the rows, and the rows of
    epochs since its last sync are missing. A Redis Cluster is refused: a transaction cannot span its slots.
    """

    keeps_epochs = True

    def __init__(
        self, options: Mapping[str, str], schema: SinkSchema, message_format: MessageFormat | None = None
    ) -> None:
        """Raises InvalidParameterValue or FeatureNotSupported; connects to nothing."""
        self._options = Options("the redis sink", options)
        self._options.refuse_unknown(("redis.url",))
        self._url = self._options.required("redis.url")
        if not self._url.startswith(("redis://", "rediss://", "unix://")):
            hint = "It is redis://user:password@host:port/database."
            raise InvalidParameterValue("the option redis.url is no URL of one Redis server", hint=hint)
        if not schema.primary_key or schema.type not in (SinkType.APPEND_ONLY, SinkType.UPSERT):
            raise FeatureNotSupported("the redis sink needs a primary key, and is append-only or upsert")
        self._encoder = encoder_of(message_format, schema)
        self._mark = f"risingpy:sink:{schema.name}:epoch"
        self._client: redis.Redis | None = None

    def check(self) -> None:
        with self._errors():
            client = self._connect(_CHECK_SECONDS)
            try:
                if client.info("server").get("redis_mode") == "cluster":
                    raise FeatureNotSupported("the redis sink does not write to a Redis Cluster")
            finally:
                client.close()

    def open(self) -> int | None:
        self.close()
        with self._errors():
            self._client = self._connect(_PATIENCE_SECONDS)
            return _epoch(self._client.get(self._mark))

    def deliver(self, epoch: int, changes: Sequence[pa.Table]) -> None:
        if self._client is None:
            self.open()
        assert self._client is not None
        with self._errors(), self._client.pipeline(transaction=True) as pipeline:
            pipeline.watch(self._mark)
            delivered = _epoch(pipeline.get(self._mark))
            if delivered is not None and delivered >= epoch:
                return
            pipeline.multi()
            if any(table.num_rows for table in changes):
                _write(pipeline, self._encoder.encode(whole(changes)))
            pipeline.set(self._mark, epoch)
            pipeline.execute()

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None

    def _connect(self, patience: float) -> redis.Redis:
        return redis.Redis.from_url(self._url, socket_timeout=patience, socket_connect_timeout=_CHECK_SECONDS)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """redis-py's errors as ours. After one the connection is closed, since its state is not known."""
        try:
            yield
        except (redis.AuthenticationError, redis.exceptions.NoPermissionError) as error:
            self.close()
            raise SqlError(f"Redis: {self._masked(error)}", sqlstate="28000") from None
        except (redis.ConnectionError, redis.TimeoutError, redis.WatchError, redis.BusyLoadingError) as error:
            self.close()
            raise TargetUnavailable(f"Redis: {self._masked(error)}") from None
        except redis.ResponseError as error:
            self.close()
            if str(error).startswith(("OOM", "READONLY", "MISCONF", "MASTERDOWN", "TRYAGAIN", "NOREPLICAS")):
                raise TargetUnavailable(f"Redis: {self._masked(error)}") from None
            raise SqlError(f"Redis: {self._masked(error)}", sqlstate="22000") from None

    def _masked(self, error: Exception) -> str:
        return self._options.masked(str(error))


def _epoch(stored: object) -> int | None:
    return int(stored) if isinstance(stored, bytes) else None


def _write(pipeline: redis.client.Pipeline, messages: Messages) -> None:
    """DEL and MSET, of some thousand keys each. A deleted key never comes again in the same epoch."""
    gone = pc.is_null(messages.values)
    deleted = messages.keys.filter(gone).to_pylist()
    keys, values = (array.filter(pc.invert(gone)).to_pylist() for array in (messages.keys, messages.values))
    for start in range(0, len(deleted), _COMMAND_KEYS):
        pipeline.delete(*deleted[start : start + _COMMAND_KEYS])
    for start in range(0, len(keys), _COMMAND_KEYS):
        end = start + _COMMAND_KEYS
        pipeline.mset(dict(zip(keys[start:end], values[start:end], strict=True)))
