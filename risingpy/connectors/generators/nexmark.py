"""`connector = 'nexmark'`: the persons, auctions and bids of the benchmark, so many events a second."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from risingpy.connectors.generators.clock import NANOSECONDS, Clock, GeneratedSplits
from risingpy.connectors.generators.nexmark_tables import NexmarkTable
from risingpy.connectors.generators.options import whole_option
from risingpy.connectors.seekable import MessageReader, RowReader, Splits
from risingpy.errors import InternalError, InvalidParameterValue
from risingpy.types import BIGINT, TIMESTAMP, TIMESTAMPTZ, VARCHAR, SqlType

BEGIN = "nexmark.begin.millis"
_TABLE, _SPLITS, _EVENTS, _GAP = (
    "nexmark.table.type", "nexmark.split.num", "nexmark.event.num", "nexmark.min.event.gap.in.ns",
)  # fmt: skip
GAP = 100_000  # nanoseconds: 10,000 events a second
TABLES = ("person", "auction", "bid")
_MOST_SPLITS = 1024
MOST_EVENTS = 1 << 46  # the time of the last, in nanoseconds, fits in 64 bits
_TYPES: Mapping[pa.DataType, tuple[SqlType, ...]] = {
    pa.int64(): (BIGINT,),
    pa.string(): (VARCHAR,),
    pa.timestamp("us"): (TIMESTAMP, TIMESTAMPTZ),
}


class NexmarkConnector:
    """One table of Nexmark. Exactly once: a position always gives the same row."""

    name = "nexmark"
    gives_messages = False

    def __init__(self, options: Mapping[str, str]) -> None:
        """Raises InvalidParameterValue if an option is missing, unknown or wrong."""
        unknown = options.keys() - {BEGIN, _TABLE, _SPLITS, _EVENTS, _GAP}
        if unknown:
            raise InvalidParameterValue(f'unknown option "{min(unknown)}" of the nexmark connector')
        table = options.get(_TABLE, "").lower()
        if table not in TABLES:
            raise InvalidParameterValue(f'the nexmark connector needs the option "{_TABLE}": Person, Auction or Bid')
        self._begin = whole_option(options, BEGIN, time.time_ns() // 1_000_000, 0, 1 << 43)
        self._splits = whole_option(options, _SPLITS, 1, 1, _MOST_SPLITS)
        gap = whole_option(options, _GAP, GAP, 0, NANOSECONDS)
        events = whole_option(options, _EVENTS, -1, -1, MOST_EVENTS)
        if gap == 0 and events < 0:
            hint = f"A source that has all events from the beginning needs {_EVENTS}."
            raise InvalidParameterValue(f'option "{_GAP}" is 0, and there is no end of events', hint=hint)
        self._clock = Clock(self._begin * 1_000, gap, None if events < 0 else events)
        # Without a gap all rows are there at once, and the times of the events still differ.
        self._table = NexmarkTable(table, self._begin * 1_000, gap or GAP)

    def check(self) -> None:
        """Does nothing: there is nobody to reach."""

    def check_columns(self, columns: Sequence[tuple[str, SqlType]]) -> None:
        for name, type_ in columns:
            column = self._table.columns.get(name)
            if column is None:
                hint = f"It has {', '.join(self._table.columns)}."
                raise InvalidParameterValue(f'nexmark\'s table {self._table.name} has no column "{name}"', hint=hint)
            allowed = _TYPES[column(np.zeros(1, np.int64)).type]
            if type_ not in allowed:
                raise InvalidParameterValue(f'column "{name}" of nexmark is of type {allowed[0]}, not {type_}')

    def options_at_creation(self) -> Mapping[str, str]:
        """The moment of the first event."""
        return {BEGIN: str(self._begin)}

    def splits(self) -> Splits:
        return GeneratedSplits(lambda now: self._table.rows_of(self._clock.count(now)), self._splits)

    def message_reader(self) -> MessageReader:
        raise InternalError("nexmark has rows")

    def row_reader(self) -> RowReader:
        return _NexmarkReader(self._table, self._splits)


class _NexmarkReader:
    def __init__(self, table: NexmarkTable, splits: int) -> None:
        self._columns = table.columns
        self._splits = splits

    def read(self, split: str, start: int, end: int, columns: Sequence[tuple[str, SqlType]]) -> list[pa.Array]:
        rows = np.arange(start, end, dtype=np.int64) * self._splits + int(split)
        return [self._columns[name](rows).cast(type_.arrow) for name, type_ in columns]

    def close(self) -> None:
        """Does nothing: there is nobody to leave."""
