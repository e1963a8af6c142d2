"""Sinks to a stream of NATS JetStream: `connector = 'nats'`."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from nats.js.errors import NotFoundError

from risingpy.connectors.formats.decoder import MessageFormat
from risingpy.connectors.nats_client import CONNECT_SECONDS, CONNECTION_OPTIONS, connected, nats_errors
from risingpy.connectors.targets.encoders.changes import whole
from risingpy.connectors.targets.encoders.choice import append_only_encoder
from risingpy.connectors.targets.options import Options
from risingpy.connectors.targets.target import SinkSchema
from risingpy.errors import TargetUnavailable, UndefinedTable

_IN_FLIGHT = 500  # messages whose acknowledgements are awaited together
_ACK_SECONDS = 30.0


class NatsTarget:
    """A `SinkTarget` that publishes messages to a subject of a stream. Exactly once within the stream's window.

    Each message has the header `Nats-Msg-Id: <sink>:<epoch>:<number>`. The stream drops a message whose id it has seen
    within its window of duplicates, two minutes if nothing else was said. After a longer interruption the messages of
    the epoch that was under way may be there twice: at least once.
    """

    keeps_epochs = False

    def __init__(
        self, options: Mapping[str, str], schema: SinkSchema, message_format: MessageFormat | None = None
    ) -> None:
        """Raises InvalidParameterValue or FeatureNotSupported; connects to nothing."""
        self._options = Options("the nats sink", options)
        self._options.refuse_unknown((*CONNECTION_OPTIONS, "subject"))
        self._options.required("server_url")
        self._subject = self._options.required("subject")
        self._encoder = append_only_encoder(message_format, schema, self._options.owner)
        self._name = schema.name

    def check(self) -> None:
        self._run(self._find_stream())

    def open(self) -> int | None:
        self.check()
        return None

    def deliver(self, epoch: int, changes: Sequence[pa.Table]) -> None:
        """Connects anew: between two epochs nothing of ours would answer the server's pings."""
        if any(table.num_rows for table in changes):
            self._run(self._publish(epoch, self._encoder.encode(whole(changes)).values))

    def close(self) -> None:
        pass

    async def _find_stream(self) -> None:
        connection = await connected(self._options)
        try:
            await connection.jetstream(timeout=CONNECT_SECONDS / 2).find_stream_name_by_subject(self._subject)
        except NotFoundError:
            raise UndefinedTable(f'NATS has no stream with the subject "{self._subject}"') from None
        finally:
            await connection.close()

    async def _publish(self, epoch: int, values: pa.Array) -> None:
        connection = await connected(self._options)
        try:
            stream = connection.jetstream(timeout=_ACK_SECONDS)
            for start in range(0, len(values), _IN_FLIGHT):
                part = values.slice(start, _IN_FLIGHT).to_pylist()
                await asyncio.gather(
                    *(
                        stream.publish(
                            self._subject, value or b"", headers={"Nats-Msg-Id": f"{self._name}:{epoch}:{n}"}
                        )
                        for n, value in enumerate(part, start=start)
                    )
                )
        finally:
            await connection.close()

    def _run(self, work: Any) -> None:
        """Runs a coroutine in this thread, with NATS's errors as ours."""
        with nats_errors(self._options, TargetUnavailable):
            asyncio.run(work)
