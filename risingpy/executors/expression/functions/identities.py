"""Numbers for identity columns: `next_number(directory, counter, greatest)`, another one in each row.

The numbers are a database's, which hands them out by a function that it has given for its data directory.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from risingpy.errors import InternalError
from risingpy.executors.expression.functions.calling import Function

Take = Callable[[int, int, int], int]  # counter, how many, greatest → the first of them
_databases: dict[str, Take] = {}


def numbers_come_from(directory: str, take: Take) -> None:
    """From now on the numbers of the counters in this data directory are what `take` gives."""
    _databases[directory] = take


def forget(directory: str) -> None:
    _databases.pop(directory, None)


def _next_number(directory: pa.Array, counter: pa.Array, greatest: pa.Array, _random: pa.Array) -> pa.Array:
    take = _databases.get(directory[0].as_py())
    if take is None:
        raise InternalError("rows are numbered where the database is open only")
    first = take(counter[0].as_py(), len(counter), greatest[0].as_py())
    return pa.array(np.arange(first, first + len(counter), dtype=np.int64))


IDENTITIES: dict[str, Function] = {"next_number": Function(_next_number)}
