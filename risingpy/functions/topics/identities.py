"""Numbers for identity columns: `next_number(directory, counter, start, increment, last)`, another one in each row.

A database gives the numbers out, by a function that it registers for its data directory.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from risingpy.errors import InternalError, SqlError
from risingpy.functions.topics.calling import Function

Take = Callable[[int, int, int], int]  # counter, how many, greatest → the first of them
_databases: dict[str, Take] = {}


def numbers_come_from(directory: str, take: Take) -> None:
    """From now on `take` gives the numbers of the counters in this data directory."""
    _databases[directory] = take


def forget(directory: str) -> None:
    """Ends what `numbers_come_from` began; it is no error if nothing gives numbers for the directory."""
    _databases.pop(directory, None)


def place_of(number: int, start: int, increment: int) -> int:
    """The position of a number in its sequence, from 1; a number between two has the position of the lower one."""
    return (number - start) // increment + 1


def _next_number(directory: pa.Array, *numbers: pa.Array) -> pa.Array:
    take = _databases.get(directory[0].as_py())
    if take is None:
        raise InternalError("rows are numbered where the database is open only")
    counter, start, increment, last = (column[0].as_py() for column in numbers[:4])
    rows = len(directory)
    try:
        first = take(counter, rows, place_of(last, start, increment))
    except SqlError as error:
        if error.sqlstate != "2200H":
            raise
        word = "maximum" if increment > 0 else "minimum"
        raise SqlError(f"nextval: reached {word} value of sequence ({last})", sqlstate="2200H") from None
    return pa.array(start + increment * np.arange(first - 1, first - 1 + rows, dtype=np.int64))


IDENTITIES: dict[str, Function] = {"next_number": Function(_next_number)}
