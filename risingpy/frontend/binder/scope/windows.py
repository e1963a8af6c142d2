"""Window functions of one SELECT: collected while its expressions are bound, placed when its groups are there.

SELECT a, rank() OVER (PARTITION BY b ORDER BY sum(c)) FROM t GROUP BY a, b
=>  Project($0, $3)
      OverWindow(partition $1, order $2; rank())
        Aggregate(a, b; sum(c))

Calls over equal windows share an OverWindow; one per window, one above the other, in the order of their appearance.
Sessions become parts of partitions (`sessions.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from risingpy.errors import WindowError
from risingpy.frontend.binder.plans import project, references
from risingpy.frontend.binder.scope.sessions import WindowSessions, place_sessions
from risingpy.plan.expression_trees import transform
from risingpy.plan.expressions import Expr, InputRef, Literal, Parameter
from risingpy.plan.logical import Field, LogicalPlan, OverWindow, SortKey
from risingpy.plan.window_calls import DEFAULT_FRAME, FRAMELESS, Frame, WindowCall
from risingpy.types import SqlType

# While binding, window call k is written InputRef(FIRST_WINDOW - k): below every aggregate call's -1 - k.
FIRST_WINDOW = -(1 << 30)


@dataclass(frozen=True, slots=True)
class OrderItem:
    """An expression of a window's ORDER BY."""

    expr: Expr
    descending: bool
    nulls_first: bool


@dataclass(frozen=True, slots=True)
class BoundWindow:
    """A window over expressions of the FROM clause's columns and aggregate calls."""

    partition_by: tuple[Expr, ...] = ()
    order_by: tuple[OrderItem, ...] = ()
    frame: Frame = DEFAULT_FRAME
    sessions: WindowSessions | None = None


@dataclass(frozen=True, slots=True)
class BoundCall:
    """A window function over such expressions; `filter` is a condition or None."""

    function: str
    args: tuple[Expr, ...]
    type: SqlType
    window: BoundWindow
    filter: Expr | None = None
    ignore_nulls: bool = False

    @property
    def exprs(self) -> Iterator[Expr]:
        """What it reads."""
        yield from self.args
        yield from self.window.partition_by
        yield from (item.expr for item in self.window.order_by)
        if self.filter is not None:
            yield self.filter


@dataclass(slots=True)
class WindowCalls:
    """The calls so far; `definitions` are the WINDOW clause's, by name, as they were written."""

    definitions: dict[str, exp.Window] = field(default_factory=dict)
    calls: dict[BoundCall, int] = field(default_factory=dict)  # each call's number, in order

    def add(self, call: BoundCall) -> InputRef:
        """The reference to `call`, one for all equal calls."""
        number = self.calls.setdefault(call, len(self.calls))
        return InputRef(FIRST_WINDOW - number, call.type)


def is_window(expr: Expr) -> bool:
    """True for the reference to a window call."""
    return isinstance(expr, InputRef) and expr.index <= FIRST_WINDOW


def place_windows(
    plan: LogicalPlan, windows: WindowCalls, below: Callable[[Expr], Expr]
) -> tuple[LogicalPlan, Callable[[Expr], Expr]]:
    """OverWindows on top of `plan`, and the way from expressions with window calls to expressions over them.

    `below` brings what a call is made of from the FROM clause's columns to `plan`'s. The columns of `plan` stay where
    they are.
    """
    if not windows.calls:
        return plan, lambda expr: expr
    plan, sessions = place_sessions(plan, filter(None, map(_sessions_of, windows.calls)), below)
    columns: dict[Expr, int] = {column: i for i, column in enumerate(references(plan.schema))}
    placed = [_placed(call, below, columns, sessions) for call in windows.calls]
    added = [f"window{i}" for i in range(len(columns) - len(plan.schema))]
    plan = project(plan, list(columns), [*(f.name for f in plan.schema), *added]) if added else plan
    positions: dict[int, int] = {}
    same: dict[tuple[tuple[int, ...], tuple[SortKey, ...]], list[int]] = {}
    for i, (partition_by, order_by, _) in enumerate(placed):
        same.setdefault((partition_by, order_by), []).append(i)
    for (partition_by, order_by), mine in same.items():
        calls = tuple(placed[i][2] for i in mine)
        positions |= {index: len(plan.schema) + k for k, index in enumerate(mine)}
        fields = tuple(Field(call.function, call.type) for call in calls)
        plan = OverWindow(plan, partition_by, order_by, calls, (*plan.schema, *fields))

    def over_windows(expr: Expr) -> Expr:
        return transform(expr, lambda e: _position(e, positions))

    return plan, over_windows


def _position(expr: Expr, positions: dict[int, int]) -> Expr | None:
    if isinstance(expr, InputRef) and is_window(expr):
        return InputRef(positions[FIRST_WINDOW - expr.index], expr.type)
    return None


Placed = tuple[tuple[int, ...], tuple[SortKey, ...], WindowCall]


def _sessions_of(call: BoundCall) -> WindowSessions | None:
    """The sessions that the call sees one of. Functions that take no notice of frames take none of sessions."""
    return None if call.function in FRAMELESS else call.window.sessions


def _placed(
    call: BoundCall, below: Callable[[Expr], Expr], columns: dict[Expr, int], sessions: Mapping[WindowSessions, int]
) -> Placed:
    """The call over positions in `columns`, to which what it reads is added; `sessions` are the ends' positions."""

    def column(expr: Expr) -> int:
        return columns.setdefault(below(expr), len(columns))

    def argument(expr: Expr) -> Expr:
        return expr if isinstance(expr, Literal | Parameter) else InputRef(column(expr), expr.type)

    window = call.window
    own = _sessions_of(call)
    ends = () if own is None else (sessions[own],)
    partition_by = tuple(dict.fromkeys((*(column(expr) for expr in window.partition_by), *ends)))
    order_by = tuple(SortKey(column(item.expr), item.descending, item.nulls_first) for item in window.order_by)
    condition = None if call.filter is None else column(call.filter)
    args = tuple(argument(arg) for arg in call.args)
    made = WindowCall(call.function, args, call.type, window.frame, condition, call.ignore_nulls)
    return partition_by, order_by, made


def no_window(clause: str, position: int) -> WindowError:
    """The error for a window function where none may stand."""
    return WindowError(f"window functions are not allowed in {clause}", position=position)
