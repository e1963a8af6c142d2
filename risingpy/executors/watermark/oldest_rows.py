"""Until when no row of a table ends by the clock: most epochs need not look at it.

The oldest row is found by a look at each vnode. A process remembers how old it was when an epoch began: rows that come
later have later times, and rows that go leave younger ones. So nothing ends before that row does, whichever process
runs the epochs, and also if one of them is repeated or undone. With another number of shards rows move; the operators
are made anew then, and know nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from risingpy.executors.epoch.operator_tree import FragmentEpoch
from risingpy.executors.epoch.time import milliseconds
from risingpy.plan.operators import RetainedFor
from risingpy.storage.codec.table_schema import vnodes_of_shard


@dataclass(frozen=True, slots=True)
class OldestRows:
    """What this process knows of one table, by shard: an epoch, and the time that no row was written before."""

    retained: RetainedFor
    _known: dict[int, tuple[int, int]] = field(default_factory=dict)

    def end(self, epoch: FragmentEpoch) -> int:
        """The rows end that were written before, in milliseconds since 1970."""
        return milliseconds(epoch.epoch_input.epoch) - 1000 * self.retained.seconds

    def wakes(self, epoch: FragmentEpoch) -> bool:
        """Whether a row may end in this epoch."""
        known = self._known.get(epoch.shard)
        return known is None or known[1] < self.end(epoch)

    def look(self, epoch: FragmentEpoch) -> bool:
        """Whether a row has a time. To be asked before the epoch's rows are stored."""
        vnodes = vnodes_of_shard(epoch.shard, epoch.shards)
        oldest = epoch.transaction.state_table(self.retained.table).first_value(vnodes, b"")
        if oldest is not None:
            self._note(epoch, oldest[0].as_py())
        return oldest is not None

    def note_empty(self, epoch: FragmentEpoch) -> None:
        """The table has no rows but those of this epoch."""
        self._note(epoch, milliseconds(epoch.epoch_input.epoch))

    def _note(self, epoch: FragmentEpoch, time: int) -> None:
        known, this = self._known.get(epoch.shard), epoch.epoch_input.epoch
        if known is None or known[0] != this:  # else this epoch may have deleted older rows, and be undone
            self._known[epoch.shard] = (this, time)
