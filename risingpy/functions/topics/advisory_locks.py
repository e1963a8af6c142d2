"""pg_advisory_lock and its like: called for each row, in the order in which DuckDB comes to it.

The session takes the locks and gives them up. The last argument in DuckDB is a random number, so that it neither
precomputes a call nor shares it between rows. A lock of one bigint has one argument before it, a lock of two integers
two.
"""

from __future__ import annotations

import pyarrow as pa

from risingpy.functions.topics.calling import Function
from risingpy.statement_limits import current_limits

_VOID = ""  # as PostgreSQL shows void


def _locking(*, shared: bool, transaction: bool, wait: bool) -> Function:
    def computed(*columns: pa.Array) -> pa.Array:
        lock = current_limits().advisory.lock
        taken = [lock(row, shared=shared, transaction=transaction, wait=wait) for row in _numbers(columns)]
        return pa.array([_VOID] * len(taken), pa.string()) if wait else pa.array(taken, pa.bool_())

    return Function(computed)


def _unlocking(*, shared: bool) -> Function:
    def computed(*columns: pa.Array) -> pa.Array:
        unlock = current_limits().advisory.unlock
        return pa.array([unlock(row, shared=shared) for row in _numbers(columns)], pa.bool_())

    return Function(computed)


def _unlock_all(random: pa.Array) -> pa.Array:
    current_limits().advisory.unlock_all()
    return pa.array([_VOID] * len(random), pa.string())


def _numbers(columns: tuple[pa.Array, ...]) -> list[tuple[int, ...]]:
    """The arguments of each row, without the random number."""
    return list(zip(*(column.to_pylist() for column in columns[:-1]), strict=True))


ADVISORY_LOCKS: dict[str, Function] = {
    **{
        f"pg_{'' if wait else 'try_'}advisory_{'xact_' if transaction else ''}lock{'_shared' if shared else ''}": (
            _locking(shared=shared, transaction=transaction, wait=wait)
        )
        for wait in (True, False)
        for transaction in (True, False)
        for shared in (True, False)
    },
    "pg_advisory_unlock": _unlocking(shared=False),
    "pg_advisory_unlock_shared": _unlocking(shared=True),
    "pg_advisory_unlock_all": Function(_unlock_all),
}
