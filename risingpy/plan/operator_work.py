"""What an operator has done: the figures of EXPLAIN ANALYZE, added up over shards and epochs.

While they are counted, and in reports of epochs, they are tuples: twenty views have some two hundred of them in an
epoch, and objects with names would take five times as long to make, and ten times to pickle.
"""

from __future__ import annotations

from operator import sub
from typing import NamedTuple, TypeAlias

OperatorPosition: TypeAlias = "tuple[int, int]"  # fragment, and the operator's place in it, depth first, left to right
WorkFigures: TypeAlias = "tuple[int, int, int, int, int]"  # those of OperatorWork, in its order


class OperatorWork(NamedTuple):
    """`nanoseconds` are of the operator alone, without its inputs and without the commit of its tables.

    `lookups`: keys and prefixes of keys that it has looked up in its state. `found`: those that had a row.
    """

    rows_in: int = 0
    rows_out: int = 0
    nanoseconds: int = 0
    lookups: int = 0
    found: int = 0

    def minus(self, earlier: OperatorWork) -> OperatorWork:
        """What was done since `earlier`."""
        return OperatorWork(*map(sub, self, earlier))


def added(one: WorkFigures, other: WorkFigures) -> WorkFigures:
    """The figures of both together."""
    a, b, c, d, e = one  # `map` would take three times as long
    return a + other[0], b + other[1], c + other[2], d + other[3], e + other[4]
