"""Advisory locks: locks of numbers, to which applications give a meaning.

They are in `table_locks` like all others, as rows of the "table" `ADVISORY`: one look finds circles of waits over both.
Source: PostgreSQL 15's manual, 13.3.5 and 9.27.10.
"""

from __future__ import annotations

from dataclasses import dataclass

ADVISORY = -1  # stands for a table's id in locks of numbers


@dataclass(frozen=True, slots=True, order=True)
class AdvisoryKey:
    """The number of a lock, which each database has for itself.

    `is_pair` tells two integers from the halves of one bigint: PostgreSQL keeps these apart, too.
    """

    database_id: int
    high: int  # 32 bits, without a sign
    low: int
    is_pair: bool

    @property
    def fields(self) -> tuple[int, int, int, int]:
        """What pg_locks and messages show: database, classid, objid, objsubid."""
        return self.database_id, self.high, self.low, 2 if self.is_pair else 1


def key_of(database_id: int, numbers: tuple[int, ...]) -> AdvisoryKey:
    """The key of one bigint, or of two integers."""
    if len(numbers) == 2:
        high, low = numbers
    else:
        high, low = numbers[0] >> 32, numbers[0]
    return AdvisoryKey(database_id, high & 0xFFFFFFFF, low & 0xFFFFFFFF, len(numbers) == 2)
