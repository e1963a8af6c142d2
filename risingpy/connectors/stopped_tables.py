"""Tables that a pushed source has stopped, because their originals were altered: part of the source's offset.

So a stop is as durable as the rows before it, and a restart does not let a stopped table take what came later.

    16/B374D848                                              no table has stopped
    16/B374D848 {"7": ["16/B3000000", "it was dropped"]}     table 7 takes no transaction from that position on
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Stop:
    """From which position on a table takes no transaction, in the connector's own notation, and why."""

    position: str
    reason: str


def offset_text(position: str, stops: Mapping[int, Stop]) -> str:
    """The offset that is logged: the position, which has no blank, and the tables that have stopped, by id."""
    if not stops:
        return position
    return f"{position} {json.dumps({table: [stop.position, stop.reason] for table, stop in stops.items()})}"


def parsed_offset(offset: str) -> tuple[str, dict[int, Stop]]:
    """What `offset_text` was given."""
    position, _, stops = offset.partition(" ")
    return position, {int(table): Stop(*stop) for table, stop in json.loads(stops or "{}").items()}
