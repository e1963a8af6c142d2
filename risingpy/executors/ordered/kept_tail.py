"""What rows to come need of a partition whose rows come in the order of one column, each group of peers at once.

row_number, rank, dense_rank            the last peers, whose stored numbers count on from there
lag(v, 3), ROWS 3 PRECEDING             the last rows
GROUPS 2 PRECEDING                      the last groups of peers
RANGE '1 hour' PRECEDING                what lies within that distance of the last row

All of that is the end of the partition. No result of a row that is there changes any more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from risingpy.plan.expressions import Literal
from risingpy.plan.window_calls import FRAMELESS, BoundKind, FrameBound, FrameUnits, WindowCall
from risingpy.storage.codec.column_buffers import whole
from risingpy.types import SqlType, TypeKind

Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

_NUMBERS = frozenset({"row_number", "rank", "dense_rank"})
_DAY = 86_400_000_000  # microseconds
_LONGEST_MONTH, _LONGEST_SHIFT = 31 * _DAY, 2 * _DAY  # a day of a time zone is longer, or begins elsewhere
_INTEGERS = {16: pa.int16(), 32: pa.int32(), 64: pa.int64()}


@dataclass(frozen=True, slots=True)
class KeptTail:
    """The last `rows` rows, the last `groups` groups of peers, and rows up to `distance` (None: 0) before the last one.

    Of times the distance is in microseconds, of dates too. `column` is that of the order. `number` is the first call
    whose result tells how many rows come before a group of peers, `dense` one that tells how many groups do.
    """

    column: int
    is_date: bool
    rows: int
    groups: int
    distance: int | None
    number: int | None
    dense: int | None

    def begins(self, order: pa.Array, begins: Mask, peers_begin: Mask) -> Integers:
        """For each partition of sorted rows, where what is needed begins: at a group of peers. `order`: its column."""
        starts = np.flatnonzero(begins)
        ends = np.append(starts[1:], len(begins))
        first = np.maximum(ends - self.rows, starts)
        groups = np.flatnonzero(begins | peers_begin)
        last_group = np.searchsorted(groups, ends) - 1  # of each partition
        first_group = np.searchsorted(groups, starts)
        first = np.minimum(first, groups[np.maximum(last_group - (self.groups - 1), first_group)])
        if self.distance is not None:
            values = self._values(order)
            # In each partition the values ascend, so the first one within the distance is counted from the end.
            near = values >= np.repeat(values[ends - 1] - self.distance, ends - starts)
            first = np.minimum(first, ends - np.add.reduceat(near.astype(np.int64), starts))
        needed: Integers = groups[np.searchsorted(groups, first, side="right") - 1]
        return needed

    def _values(self, column: pa.Array) -> Integers:
        values: Integers = whole(column).view(_INTEGERS[column.type.bit_width]).to_numpy().astype(np.int64)
        return values * _DAY if self.is_date else values


def kept_tail(calls: Sequence[WindowCall], column: int, type_: SqlType) -> KeptTail | None:
    """What all calls together need; None if one needs the whole partition, or looks at rows to come."""
    needed = [_needed(call) for call in calls]
    known = [each for each in needed if each is not None]
    if len(known) < len(needed):
        return None
    distances = [distance for _, _, distance in known if distance is not None]
    functions = [call.function for call in calls]
    numbers = [i for i, function in enumerate(functions) if function in ("row_number", "rank")]
    return KeptTail(
        column,
        type_.kind is TypeKind.DATE,
        max(rows for rows, _, _ in known),
        max(1, *(groups for _, groups, _ in known)),
        max(distances, default=None),
        numbers[0] if numbers else None,
        functions.index("dense_rank") if "dense_rank" in functions else None,
    )


def _needed(call: WindowCall) -> tuple[int, int, int | None] | None:
    """(Rows, groups of peers, distance) before a row at which the call looks."""
    if call.function in _NUMBERS:
        return 0, 1, None
    if call.function == "lag" and not call.ignore_nulls:
        rows = call.args[1].value if len(call.args) > 1 and isinstance(call.args[1], Literal) else 1
        is_constant = len(call.args) < 2 or isinstance(call.args[1], Literal)
        return (rows, 1, None) if is_constant and isinstance(rows, int) and rows >= 0 else None
    frame = call.frame
    if call.function in FRAMELESS or frame.end.kind not in (BoundKind.CURRENT_ROW, BoundKind.PRECEDING):
        return None
    if frame.start.kind is BoundKind.CURRENT_ROW:
        return 0, 1, None
    distance = _distance(frame.start, frame.units)
    if distance is None:
        return None
    match frame.units:
        case FrameUnits.ROWS:
            return distance, 1, None
        case FrameUnits.GROUPS:
            return 0, distance, None
        case FrameUnits.RANGE:
            return 0, 1, distance


def _distance(bound: FrameBound, units: FrameUnits) -> int | None:
    """How far before its row a frame begins; None if that is unbounded, or not constant."""
    if bound.kind is not BoundKind.PRECEDING or not isinstance(bound.offset, Literal):
        return None
    value = bound.offset.value
    if isinstance(value, int):
        return value
    if units is not FrameUnits.RANGE or not isinstance(value, pa.MonthDayNano):
        return None
    months, days, nanoseconds = value
    shift = _LONGEST_SHIFT if months or days else 0
    return int(months * _LONGEST_MONTH + days * _DAY + shift + nanoseconds // 1000 + 1)
