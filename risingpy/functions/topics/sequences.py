"""nextval and its like: called for each row, in the order in which DuckDB comes to it. The session answers them.

The last argument in DuckDB is a random number, so that it neither precomputes a call nor shares it between rows.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from risingpy.functions.topics.calling import Compute, Function
from risingpy.statement_limits import current_limits


def _next_values(oids: pa.Array, checked: pa.Array, *_random: pa.Array) -> pa.Array:
    """A number in each row; all rows of one sequence at once."""
    sequences, values = current_limits().sequences, np.empty(len(oids), np.int64)
    numbers = oids.to_numpy(zero_copy_only=False)
    for oid in np.unique(numbers).tolist():
        rows = np.flatnonzero(numbers == oid)
        values[rows] = sequences.next(oid, len(rows), checked[int(rows[0])].as_py())
    return pa.array(values)


def _each(one: Callable[..., object], result: pa.DataType) -> Compute:
    """A function of each row: two equal rows are two calls."""

    def computed(*columns: pa.Array) -> pa.Array:
        return pa.array([one(*row) for row in zip(*[column.to_pylist() for column in columns], strict=True)], result)

    return computed


def _current(oid: int, *_random: float) -> int:
    return current_limits().sequences.current(oid)


def _last(*_random: object) -> int:
    return current_limits().sequences.last()


def _set(oid: int, value: int, called: bool, *_random: float) -> int:
    return current_limits().sequences.put(oid, value, called)


def _shown(oid: int, *_random: float) -> int | None:
    value, called = current_limits().sequences.position(oid)
    return value if called else None


def _stands_at(oid: int, *_random: float) -> int:
    return current_limits().sequences.position(oid)[0]


def _was_called(oid: int, *_random: float) -> bool:
    return current_limits().sequences.position(oid)[1]


def _of_column(table: str, column: str, *_random: float) -> str | None:
    return current_limits().sequences.of_column(table, column)


SEQUENCES: dict[str, Function] = {
    "nextval": Function(_next_values),
    "currval": Function(_each(_current, pa.int64())),
    "lastval": Function(_each(_last, pa.int64())),
    "setval": Function(_each(_set, pa.int64())),
    "pg_sequence_last_value": Function(_each(_shown, pa.int64())),
    "sequence_position": Function(_each(_stands_at, pa.int64())),
    "sequence_was_called": Function(_each(_was_called, pa.bool_())),
    "pg_get_serial_sequence": Function(_each(_of_column, pa.string())),
}
