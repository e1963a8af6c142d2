"""Finds the next time at which something changes only because time passes.

A row passes a filter on now(), or it has been in a table for its `retention_seconds`.

A database without such filters, or without rows that wait at one, has no such time, and sleeps. The time follows from
the committed state: in each filter, it is when the bound passes the row that is nearest to it. A bound that may fall
(`now() - interval '1 month'`) is checked again every quarter of an hour.

The search reads the table of every filter, which takes some milliseconds each. It runs only when nothing has happened
for a second: epochs that only time causes are a second apart, so it is never needed earlier. While epochs follow each
other it does not run at all, since each of them moves the bounds anyway.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

import pyarrow as pa

from risingpy.executors.join.bound_over_time import BoundOverTime, numbers
from risingpy.meta.epochs.number import milliseconds
from risingpy.optimizer.now import QUARTER_MILLISECONDS
from risingpy.plan.expressions import Expr
from risingpy.plan.graph import Job
from risingpy.plan.joins import DynamicFilter
from risingpy.plan.operators import Materialize, RetainedFor, StreamTtl
from risingpy.plan.traversal import nodes_of_fragment, over_now
from risingpy.storage.codec.table_schema import TableSchema
from risingpy.storage.engine.read_views import ReadView
from risingpy.storage.engine.storage_table import StorageTable

PAUSE_MILLISECONDS = 1000  # at least, between epochs that only time causes
_FARTHEST = 1 << 42  # milliseconds, about 139 years: later times are not waited for


class PassingTime:
    """The next moment after a committed epoch, once `look` has found it. For the barrier loop's thread."""

    def __init__(self) -> None:
        self._graph_version: int | None = None
        self._epoch = 0
        self._filters: list[_TimeFilter | _AgingRows] = []
        self._of_jobs: dict[int, tuple[Job, list[_TimeFilter | _AgingRows]]] = {}
        self._look_at: int | None = None  # when to call `look`; None: it has been called
        self.next: int | None = None  # in milliseconds since 1970; None: never, or not known yet

    def follow(self, jobs: Mapping[int, Job], graph_version: int, epoch: int, now: int) -> None:
        """A new epoch is committed, with these jobs: the moment found for the epoch before is no longer valid."""
        if (self._graph_version, self._epoch) == (graph_version, epoch):
            return
        if self._graph_version != graph_version:
            known = self._of_jobs  # jobs that stay are the same objects: a schema change looks at one plan, not at all
            self._of_jobs = {
                job_id: known[job_id] if job_id in known and known[job_id][0] is job else (job, [*_filters_of(job)])
                for job_id, job in jobs.items()
            }
            self._filters = [each for _, filters in self._of_jobs.values() for each in filters]
        self._graph_version, self._epoch = graph_version, epoch
        self._look_at = now + PAUSE_MILLISECONDS if self._filters else None
        self.next = None

    def is_to_look(self, now: int) -> bool:
        """Whether the next moment should be looked for now."""
        return self._look_at is not None and self._look_at <= now

    def look(self, view: ReadView) -> None:
        """Finds the next moment after the view's epoch, which is the one that was followed last."""
        now = milliseconds(view.epoch)
        moments = [each.next_moment(view, now) for each in self._filters]
        first = min((moment for moment in moments if moment is not None), default=None)
        self.next = None if first is None else max(first, now + PAUSE_MILLISECONDS)
        self._look_at = None

    def has_come(self, now: int) -> bool:
        """Whether the next moment is at or before `now`."""
        return self.next is not None and self.next <= now

    def seconds_left(self, now: int) -> float | None:
        """The time from `now` to the next moment, or to the call of `look` that will find it; None if there is none."""
        waits_for = self.next if self._look_at is None else self._look_at
        return None if waits_for is None else max(0, waits_for - now) / 1000


def _filters_of(job: Job) -> Iterator[_TimeFilter | _AgingRows]:
    for fragment in job.fragments:
        for node in nodes_of_fragment(fragment.root):
            if isinstance(node, Materialize | StreamTtl) and node.retained is not None:
                yield _AgingRows(node.retained, node.table)
            if isinstance(node, DynamicFilter):
                bound = over_now(node.right)
                if bound is not None:
                    yield _TimeFilter(node, bound)


@dataclass(frozen=True, slots=True)
class _AgingRows:
    """The rows of a table, or those that a view keeps, that end by the clock."""

    retained: RetainedFor
    table: TableSchema

    def next_moment(self, view: ReadView, now: int) -> int | None:
        """When the oldest row is older than it may be; at once if rows have no times yet, for a ttl has been added."""
        oldest = StorageTable(self.retained.table, view).first_from(None, beyond=False)
        if oldest is None:
            has_rows = any(batch.num_rows for batch in islice(StorageTable(self.table, view).scan([]), 1))
            return now + 1 if has_rows else None
        return int(oldest.as_py()) + 1000 * self.retained.seconds + 1


@dataclass(slots=True)
class _Known:
    """The last result: the row's value, and when the bound passes it."""

    value: int
    moment: int | None


class _TimeFilter:
    """One DynamicFilter whose bound is an expression of now()."""

    def __init__(self, node: DynamicFilter, bound: Expr) -> None:
        self._node = node
        self._bound = BoundOverTime(bound, node.comparison)
        self._known: _Known | None = None

    def next_moment(self, view: ReadView, now: int) -> int | None:
        """The first time after `now`, the view's time, at which a row comes or goes, or may do so."""
        table = StorageTable(self._node.table, view)
        if self._node.only_forward:  # only rows above the bound are stored
            value = table.first_from(None, beyond=False)
            if value is None or not value.is_valid:
                return None
            number = _number(value)
            if self._known is None or self._known.value != number:
                self._known = _Known(number, self._bound.when_passed(number, now, now + _FARTHEST))
            return self._known.moment
        quarter = (now // QUARTER_MILLISECONDS + 1) * QUARTER_MILLISECONDS
        if table.first_from(None, beyond=False) is None:
            return None
        bound = self._bound.at([now])
        value = table.first_from(bound, beyond=self._bound.at_value) if bound[0].is_valid else None
        if value is None or not value.is_valid:
            return quarter
        return self._bound.when_passed(_number(value), now, quarter) or quarter


def _number(value: pa.Scalar) -> int:
    return int(numbers(pa.repeat(value, 1))[0].as_py())
