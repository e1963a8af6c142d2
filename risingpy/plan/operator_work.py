"""What an operator has done: the figures of EXPLAIN ANALYZE, added up over shards and epochs."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

OperatorPosition: TypeAlias = "tuple[int, int]"  # fragment, and the operator's place in it, depth first, left to right


class OperatorWork(NamedTuple):
    """`nanoseconds` are of the operator alone, without its inputs and without the commit of its tables."""

    rows_in: int = 0
    rows_out: int = 0
    nanoseconds: int = 0

    def plus(self, other: OperatorWork) -> OperatorWork:
        return OperatorWork(
            self.rows_in + other.rows_in,
            self.rows_out + other.rows_out,
            self.nanoseconds + other.nanoseconds,
        )

    def minus(self, earlier: OperatorWork) -> OperatorWork:
        """What was done since `earlier`."""
        return OperatorWork(
            self.rows_in - earlier.rows_in,
            self.rows_out - earlier.rows_out,
            self.nanoseconds - earlier.nanoseconds,
        )
