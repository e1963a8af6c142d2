"""Functions about sessions, set_config and pg_notify: called for each row, in the order in which DuckDB comes to it.

What they do to sessions is in the limits of the statement, since a task of an epoch has no sessions.
"""

from __future__ import annotations

import pyarrow as pa

from risingpy.errors import NumericValueOutOfRange
from risingpy.functions.topics.calling import Function
from risingpy.statement_limits import current_limits


def _cancel(process_ids: pa.Array, _random: pa.Array) -> pa.Array:
    signal = current_limits().signal
    return pa.array([signal("pg_cancel_backend", each.as_py(), 0) for each in process_ids], pa.bool_())


def _terminate(process_ids: pa.Array, *rest: pa.Array) -> pa.Array:
    """With a timeout, in milliseconds, it returns when the session has gone; false if that takes longer."""
    signal = current_limits().signal
    timeouts = rest[0].to_pylist() if len(rest) == 2 else [0] * len(process_ids)
    if any(timeout < 0 for timeout in timeouts):
        raise NumericValueOutOfRange('"timeout" must not be negative')
    pairs = zip(process_ids.to_pylist(), timeouts, strict=True)
    return pa.array([signal("pg_terminate_backend", *pair) for pair in pairs], pa.bool_())


def _blocking(process_ids: pa.Array, _random: pa.Array) -> pa.Array:
    blocking = current_limits().blocking
    return pa.array([blocking(each) for each in process_ids.to_pylist()], pa.list_(pa.int32()))


def _set_config(names: pa.Array, values: pa.Array, local: pa.Array, _random: pa.Array) -> pa.Array:
    """The new values, or NULL where the name or the value is."""
    change = current_limits().set_config
    rows = zip(names.to_pylist(), values.to_pylist(), local.to_pylist(), strict=True)
    return pa.array([None if None in row[:2] else change(row[0], row[1], bool(row[2])) for row in rows], pa.string())


def _notify(channels: pa.Array, payloads: pa.Array, _random: pa.Array) -> pa.Array:
    """Empty texts, as PostgreSQL shows void. A NULL is an empty text, which no channel has as its name."""
    notify = current_limits().notify
    for channel, payload in zip(channels.to_pylist(), payloads.to_pylist(), strict=True):
        notify(channel or "", payload or "")
    return pa.array([""] * len(channels), pa.string())


BACKENDS: dict[str, Function] = {
    "pg_cancel_backend": Function(_cancel),
    "pg_blocking_pids": Function(_blocking),
    "pg_terminate_backend": Function(_terminate),
    "set_config": Function(_set_config, takes_nulls=True),
    "pg_notify": Function(_notify, takes_nulls=True),
}
