"""What an operator has done: the figures of EXPLAIN ANALYZE, added up over shards and epochs."""

from __future__ import annotations

from operator import add, sub
from typing import NamedTuple, TypeAlias

OperatorPosition: TypeAlias = "tuple[int, int]"  # fragment, and the operator's place in it, depth first, left to right


class OperatorWork(NamedTuple):
    """`nanoseconds` are of the operator alone, without its inputs and without the commit of its tables.

    `lookups`: keys and prefixes of keys that it has looked up in its state. `found`: those that had a row.
    """

    rows_in: int = 0
    rows_out: int = 0
    nanoseconds: int = 0
    lookups: int = 0
    found: int = 0

    def plus(self, other: OperatorWork) -> OperatorWork:
        return OperatorWork(*map(add, self, other))

    def minus(self, earlier: OperatorWork) -> OperatorWork:
        """What was done since `earlier`."""
        return OperatorWork(*map(sub, self, earlier))
