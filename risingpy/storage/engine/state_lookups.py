"""How often state tables are asked for keys: a figure of EXPLAIN ANALYZE, counted once per batch of keys."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(slots=True)
class StateLookups:
    """`asked`: keys, and prefixes of keys, that were looked up. `found`: those of them that had a row.

    Scans of ranges are none: nobody knows how many keys they would have been.
    """

    asked: int = 0
    found: int = 0

    def note(self, asked: int, found: int) -> None:
        """A batch was looked up."""
        self.asked += asked
        self.found += found

    def note_prefixes(self, prefixes: int, numbers: npt.NDArray[np.int64]) -> None:
        """A batch of prefixes was looked up; `numbers` has, for each row that was read, the prefix's number."""
        in_runs = np.count_nonzero(numbers[1:] != numbers[:-1]) + 1 if len(numbers) else 0
        self.note(prefixes, int(in_runs))
