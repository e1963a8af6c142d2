"""`session_end` as DuckDB SQL: the next time, then the least time at or after the row's own that ends a session.

    SELECT t.* EXCLUDE (following), min(CASE WHEN following IS NULL OR following >= limit THEN time END)
        OVER (PARTITION BY k ORDER BY time RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS c3
    FROM (SELECT t.*, lead(time) OVER (PARTITION BY k ORDER BY time) AS following FROM t) AS t

The views' form is `executors/ordered/session_ends.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from risingpy.plan.expressions import InputRef
from risingpy.plan.logical import OverWindow
from risingpy.plan.window_calls import WindowCall


def with_session_ends(plan: OverWindow, source: str, partition: Sequence[str], column: Callable[[int], str]) -> str:
    """The SELECT of `plan`, all of whose calls are `session_end`, over the rows of `source`, which are called t."""
    first = len(plan.input.schema)
    partition_by = f"PARTITION BY {', '.join(partition)} " if partition else ""
    following, ends = [], []
    for number, call in enumerate(plan.calls):
        time, limit = _columns(call, column)
        over = f"{partition_by}ORDER BY {time} ASC NULLS LAST"
        following.append(f"lead({time}) OVER ({over}) AS following{number}")
        ends.append(
            f"min(CASE WHEN following{number} IS NULL OR following{number} >= {limit} THEN {time} END) "
            f"OVER ({over} RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS c{first + number}"
        )
    hidden = ", ".join(f"following{number}" for number in range(len(plan.calls)))
    return (
        f"SELECT t.* EXCLUDE ({hidden}), {', '.join(ends)} FROM (SELECT t.*, {', '.join(following)} FROM {source}) AS t"
    )


def _columns(call: WindowCall, column: Callable[[int], str]) -> tuple[str, str]:
    time, limit, _ = call.args
    assert isinstance(time, InputRef) and isinstance(limit, InputRef)
    return column(time.index), column(limit.index)
