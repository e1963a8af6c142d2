"""SESSION WITH GAP: a window's frame is its row's session, the rows whose times lie less than a gap apart.

sum(v) OVER (PARTITION BY k ORDER BY at SESSION WITH GAP '5 minutes')
=>  OverWindow(partition k, session_end; order at; sum(v) rows between unbounded preceding and unbounded following)
      OverWindow(partition k; order at; session_end(at, at + '5 minutes', '5 minutes'))

Within its partition a session is known by its last time. That time has a watermark, if `at` has one: a session is
closed when the watermark has come so far that no later row can belong to it (docs/decisions/109).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from risingpy.frontend.binder.plans import project, references
from risingpy.plan.expressions import Expr, InputRef, Literal
from risingpy.plan.logical import Field, LogicalPlan, OverWindow, SortKey
from risingpy.plan.window_calls import SESSION_END, WindowCall


@dataclass(frozen=True, slots=True)
class WindowSessions:
    """The sessions of each partition, by expressions of the FROM clause's columns and aggregate calls.

    A row belongs to the session of the row before if its `time` is less than the other's `limit`, `time + gap`.
    """

    partition_by: tuple[Expr, ...]
    time: Expr
    limit: Expr
    gap: Literal


def place_sessions(
    plan: LogicalPlan, sessions: Iterable[WindowSessions], below: Callable[[Expr], Expr]
) -> tuple[LogicalPlan, dict[WindowSessions, int]]:
    """`plan` with more columns, and the positions of the sessions' ends among these. `below` as in `place_windows`."""
    columns: dict[Expr, int] = {column: i for i, column in enumerate(references(plan.schema))}

    def column(expr: Expr) -> int:
        return columns.setdefault(below(expr), len(columns))

    placed = {
        each: (tuple(dict.fromkeys(map(column, each.partition_by))), column(each.time), column(each.limit))
        for each in sessions
    }
    if not placed:
        return plan, {}
    added = [f"session{i}" for i in range(len(columns) - len(plan.schema))]
    plan = project(plan, list(columns), [*(f.name for f in plan.schema), *added]) if added else plan
    ends: dict[WindowSessions, int] = {}
    for each, (partition_by, time, limit) in placed.items():
        args = (InputRef(time, each.time.type), InputRef(limit, each.limit.type), each.gap)
        call = WindowCall(SESSION_END, args, each.time.type)
        ends[each] = len(plan.schema)
        schema = (*plan.schema, Field(SESSION_END, call.type))
        plan = OverWindow(plan, partition_by, (SortKey(time),), (call,), schema)
    return plan, ends
