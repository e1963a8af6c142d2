"""Sources that send rows once, and must be told that they have arrived: change data capture, webhooks, MQTT.

A thread of the server runs the connector. It appends rows and the offset after them to the write-ahead log in one
fsync, and acknowledges them upstream afterwards. So a crash between the two repeats what is in the log already, and the
connector leaves that out: it begins with the last offset in the log.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Protocol

import pyarrow as pa


class PushedRows(Protocol):
    """Where a pushed connector puts its rows. For the connector's own thread."""

    def last_offset(self) -> str | None:
        """The offset of the last group that is durable; None if there is none."""
        ...

    def append(self, changes: Mapping[str, pa.Table], offset: str) -> None:
        """Logs the changes of the tables that read this source, and the offset after them, as one group.

        It is atomic over all tables and durable when it returns. The keys say which upstream table the changes are of
        (empty for a source of one table). A change chunk has `op` (int8, ±1), and as `c0`… the table's columns.
        """
        ...


class PushedConnector(Protocol):
    """One connector of the table in `connectors/registry.py`. Its options are checked; it holds no connection."""

    def check(self) -> None:
        """Reaches the other side, as CREATE does. Raises within 5 s: SourceUnavailable, InvalidParameterValue."""
        ...

    def run(self, rows: PushedRows, stopping: threading.Event) -> None:
        """Receives until `stopping` is set. Raises SourceUnavailable; the engine starts it again, with back-off."""
        ...
