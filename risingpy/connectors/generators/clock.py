"""How many rows a generator has made: those of the time since it began."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from risingpy.connectors.seekable import SplitEnd

NANOSECONDS = 1_000_000_000
MOST_ROWS_OF_A_SPLIT = 1 << 40  # so many positions a row id has room for


@dataclass(frozen=True, slots=True)
class Clock:
    """A row, or an event, each `gap` nanoseconds since `begin` (microseconds since 1970), up to `rows` if not None.

    With a gap of 0 all rows are there from the beginning.
    """

    begin: int
    gap: int
    rows: int | None

    def count(self, now: int) -> int:
        """Rows at a moment, in microseconds since 1970."""
        if self.gap == 0:
            assert self.rows is not None
            return self.rows
        count = max(now - self.begin, 0) * 1_000 // self.gap
        return count if self.rows is None else min(count, self.rows)


class GeneratedSplits:
    """The splits of a generator: row number g is position g ÷ n of split g mod n."""

    def __init__(self, rows_at: Callable[[int], int], splits: int) -> None:
        """`rows_at` says how many rows there are at a moment, in microseconds since 1970."""
        self._rows_at = rows_at
        self._splits = splits
        self._count = 0

    def ends(self) -> Mapping[str, SplitEnd]:
        """Every view begins with the first row."""
        self._count = max(self._count, self._rows_at(time.time_ns() // 1_000))  # a clock may be set back
        n = self._splits
        ends = {str(k): min((self._count - k + n - 1) // n, MOST_ROWS_OF_A_SPLIT) for k in range(n)}
        return {split: SplitEnd(0, max(end, 0), 0) for split, end in ends.items()}

    def close(self) -> None:
        """Does nothing: there is nobody to leave."""
