"""The target that forgets everything: for trials, and to measure what a sink costs the database itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from risingpy.connectors.formats.decoder import MessageFormat
from risingpy.connectors.targets.options import Options
from risingpy.connectors.targets.target import SinkSchema


class BlackholeTarget:
    """Takes every epoch, in any grouping, and keeps nothing: exactly once, and at least once, are the same here."""

    keeps_epochs = True

    def __init__(
        self, options: Mapping[str, str], schema: SinkSchema, message_format: MessageFormat | None = None
    ) -> None:
        Options("the blackhole sink", options).refuse_unknown(())

    def check(self) -> None:
        pass

    def open(self) -> int | None:
        return None

    def deliver(self, epoch: int, changes: Sequence[pa.Table]) -> None:
        pass

    def close(self) -> None:
        pass
