"""A DynamicFilter whose bound follows the time, and never falls: most epochs need not move the bound.

The bound moves in every epoch, but matters only when it passes a stored row. So a process remembers the value of the
row that is nearest to the bound, and when the bound will pass it. Until then time changes nothing, and the bound that
is stored may stay as it is: no row that is stored lies between it and the bound of now. Rows beyond the nearest one are
judged as by either bound. If rows come that are nearer, or the moment has come, or another process has run an epoch
meanwhile, the bound is moved. So sixty filters cost an epoch little more than what their rows cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from risingpy.executors.change_chunk import INSERT, columns_of, make_chunk
from risingpy.executors.epoch.operator_tree import FragmentEpoch
from risingpy.executors.epoch.time import milliseconds
from risingpy.executors.join.bound_over_time import BoundOverTime, numbers
from risingpy.executors.join.dynamic_filter import DynamicFilterExecutor

_HORIZON_MILLISECONDS = 3_600_000  # how far ahead a moment is looked for


@dataclass(slots=True)
class _Quiet:
    """No row is passed before the time `until`. `nearest` is the least stored value, None if none is stored.

    This holds after `epoch`. If the bound `stayed` in it, it holds when that epoch is repeated, too.
    """

    epoch: int
    nearest: int | None
    until: int
    stayed: bool = False


@dataclass(slots=True)
class TimeFilterMemory:
    """What this process knows of one filter, by shard."""

    bound: BoundOverTime
    _quiet: dict[int, _Quiet] = field(default_factory=dict)

    def wakes(self, epoch: FragmentEpoch) -> bool:
        """Whether the bound may have passed a row, so that the filter must run even without rows."""
        quiet = self.quiet(epoch)
        if quiet is None:
            return True
        quiet.epoch, quiet.stayed = epoch.epoch_input.epoch, True
        return False

    def quiet(self, epoch: FragmentEpoch) -> _Quiet | None:
        """What holds of the shard if time changes nothing in this epoch; None if it may, or if that is not known."""
        quiet, this = self._quiet.get(epoch.shard), epoch.epoch_input
        if quiet is None or milliseconds(this.epoch) >= quiet.until or epoch.starts:
            return None
        is_next = quiet.epoch == this.committed
        return quiet if is_next or (quiet.stayed and quiet.epoch == this.epoch) else None

    def moved(self, epoch: FragmentEpoch, stored: pa.Array | None) -> None:
        """Notes that the bound was moved in this epoch, and the least value that is stored beyond it (None: none)."""
        now = milliseconds(epoch.epoch_input.epoch)
        until, nearest = now + _HORIZON_MILLISECONDS, None
        if stored is not None:
            nearest = numbers(stored)[0].as_py()
            until = self.bound.when_passed(nearest, now, until) or until
        self._quiet[epoch.shard] = _Quiet(epoch.epoch_input.epoch, nearest, until)

    def forget(self, epoch: FragmentEpoch) -> None:
        """Notes that nothing is known of the shard."""
        self._quiet.pop(epoch.shard, None)


class TimeFilterExecutor:
    """One epoch of the filter: its input is that of the left side alone, since the bound follows from the epoch."""

    def __init__(
        self, *, rows: DynamicFilterExecutor, column: int, memory: TimeFilterMemory, epoch: FragmentEpoch
    ) -> None:
        self._rows = rows
        self._column = column
        self._memory = memory
        self._epoch = epoch

    def execute(self, inputs: Sequence[pa.Table]) -> pa.Table:
        (changes,) = inputs
        quiet = self._memory.quiet(self._epoch)
        if quiet is not None and self._are_beyond(changes, quiet.nearest):
            quiet.epoch, quiet.stayed = self._epoch.epoch_input.epoch, True
            return self._rows.wait(changes)
        bound = self._memory.bound.at([milliseconds(self._epoch.epoch_input.epoch)])
        output = self._rows.execute([changes, make_chunk([INSERT], [bound])])
        if bound[0].is_valid:
            self._memory.moved(self._epoch, self._rows.first_beyond(bound))
        else:
            self._memory.forget(self._epoch)
        return output

    def _are_beyond(self, changes: pa.Table, nearest: int | None) -> bool:
        """Whether none of the rows lies before the nearest one that is stored."""
        least = pc.min(numbers(columns_of(changes)[self._column])).as_py()
        return least is None or (nearest is not None and least >= nearest)
