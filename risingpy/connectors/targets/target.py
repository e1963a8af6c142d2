"""What a sink delivers to: another system, which gets whole committed epochs in their order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

import pyarrow as pa

from risingpy.types import SqlType


class SinkType(Enum):
    """How changes are written: `type = …` of CREATE SINK."""

    APPEND_ONLY = "append-only"
    UPSERT = "upsert"
    DEBEZIUM = "debezium"
    RETRACT = "retract"


@dataclass(frozen=True, slots=True)
class SinkSchema:
    """The columns that a target gets, and the positions of its primary key among them (empty: it has none)."""

    name: str
    columns: tuple[tuple[str, SqlType], ...]
    primary_key: tuple[int, ...]
    type: SinkType


class SinkTarget(Protocol):
    """One target of the table in `connectors/registry.py`. One thread uses it, and it may block.

    An epoch may come twice: after a crash the engine begins with the first epoch that it has not recorded as delivered.
    What keeps the second delivery from having an effect is the target's contract, which its docstring states.
    """

    keeps_epochs: bool
    """Whether the other side has the number of the last epoch that it got. Only then may several come as one."""

    def check(self) -> None:
        """Reaches the other side and looks at what is there, as CREATE SINK does. Raises SqlError within 5 s."""
        ...

    def open(self) -> int | None:
        """Connects. The last epoch that the other side has, which the engine goes on after; None: it tells of none."""
        ...

    def deliver(self, epoch: int, changes: Sequence[pa.Table]) -> None:
        """Writes one whole epoch; when this returns, it is durable there. Raises TargetUnavailable to be tried again.

        A table has `op` (int8) and `c0`, `c1`, … as the schema's columns. Rows are consolidated by primary key: at most
        one −1 and one +1 a key, the −1 first.
        """
        ...

    def close(self) -> None: ...
