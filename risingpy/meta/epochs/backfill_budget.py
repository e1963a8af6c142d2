"""Decides how many rows of their upstreams' snapshots the jobs in creation read in the next epoch.

An epoch ends for all jobs at once, so what it reads of snapshots is what everybody else waits for. So the jobs take
turns. If nothing else happens, a turn is `ROWS_PER_EPOCH` rows, since fewer cost more each; an epoch has as many turns
as fit into `QUIET_SECONDS`. If rows of others come, it has what fits into the time of an ordinary epoch or two, and
every second epoch with such rows has none: they wait for one turn at the most, and a backfill under a steady load still
gets half of the epochs. How long a job's rows take is measured, and their number follows.

Of a job that is not plain nobody knows whether a row takes a microsecond or a second. So it begins with few rows, while
nobody waits in an epoch with several others that begin: most have read a small table by that, and twenty views of such
tables need no twenty epochs. The next turns have as many as fit into `QUIET_SECONDS` by what rows have cost, but grow
within bounds: what a row costs may grow with the rows before it. After a turn that took far too long, the next one is
shorter. What an epoch costs however few rows it reads, as that of a view with fifteen subqueries does, is no reason to
read fewer: that would make the view as many times slower, and no epoch shorter.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from risingpy.executors.relation.backfill import ROWS_PER_EPOCH

QUIET_SECONDS = 0.1  # nobody waits; whoever comes then does so once
LEAST_BUSY_SECONDS = 0.015
BUSY_TIMES = (
    2.0  # what an epoch without snapshots takes: who waits for half a turn, and its own epoch, waits twice as long
)
BUSY_FOR_SECONDS = 1.0  # after an epoch with rows of others
LEAST_ROWS, FIRST_ROWS = 1_000, 10_000  # per shard
TRIED_ROWS = 16  # per shard, of a job that has read nothing yet
TRIED_TOGETHER = 8  # such jobs in an epoch; one that takes too long for itself makes the others wait for a repetition
MOST_GROWTH, LEAST_GROWTH = 64.0, 0.125  # of that number with each turn
TOO_LONG_SECONDS = 0.25  # a turn that takes less than that, and more than `QUIET_SECONDS`, may be repeated
_GUESSED_PLAIN_SECONDS = 0.01
_MEMORY = 0.7  # the weight of earlier measurements against a new one
_KEPT = 0.7  # the weight of a job's earlier epochs for its cost
_ALIKE = 0.1  # numbers of rows that differ by less, relatively, do not tell what a row costs
_LIMIT_BURST_SECONDS = 1.0  # a limited job may read so much at once
_LIMIT_PAUSE_SECONDS = 0.1  # and reads nothing until it has so much to read


@dataclass(slots=True)
class _SnapshotTurn:
    """What a job does when it is its turn: how many rows per shard it reads, and how long that takes."""

    rows: int
    seconds: float


@dataclass(slots=True)
class _Cost:
    """What a job's epochs took by their rows per shard: a line of least squares, in which older epochs weigh less.

    One epoch says little: on a busy machine the same rows take ten times as long at times.
    """

    weight: float = 0.0
    rows: float = 0.0
    seconds: float = 0.0
    squares: float = 0.0  # of rows
    products: float = 0.0  # of rows and seconds
    least: float = float("inf")  # seconds that an epoch took: without rows it would take no more

    def note(self, rows: int, seconds: float) -> None:
        self.least = min(self.least, seconds)
        self.weight = _KEPT * self.weight + 1.0
        self.rows = _KEPT * self.rows + rows
        self.seconds = _KEPT * self.seconds + seconds
        self.squares = _KEPT * self.squares + rows * rows
        self.products = _KEPT * self.products + rows * seconds

    def line(self) -> tuple[float, float] | None:
        """The seconds of an epoch without rows, and those of a row. None if all had about the same number of rows."""
        rows, seconds = self.rows / self.weight, self.seconds / self.weight
        variance = self.squares / self.weight - rows * rows
        if variance < (_ALIKE * rows) ** 2:
            return None
        of_row = max(0.0, (self.products / self.weight - rows * seconds) / variance)
        return min(self.least, max(0.0, seconds - of_row * rows)), of_row


class BackfillBudget:
    """For the barrier loop's thread. `now` is a monotonic clock in seconds."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._turns: dict[tuple[int, bool], _SnapshotTurn] = {}  # by job, and whether others are busy
        self._plain_seconds = _GUESSED_PLAIN_SECONDS
        self._last_busy = float("-inf")
        self._is_busy = False
        self._order: list[int] = []  # whose turn is next
        self._plain: set[int] = set()  # the jobs that need not be tried
        self._bearable: dict[int, int] = {}  # by other job: how many rows per shard it may read by what it has read
        self._costs: dict[int, _Cost] = {}  # of those jobs
        self._planned: dict[int, float] = {}  # the seconds that the jobs of the planned epoch should take
        self._read_limited: dict[int, float] = {}  # by limited job: when it has last read
        self._last_had_snapshot = False

    def rows(
        self,
        job_ids: Sequence[int],
        limits: Mapping[int, int],
        *,
        shards: int,
        has_rows: bool,
        plain: Callable[[int], bool] = lambda job: True,
    ) -> Mapping[int, int]:
        """How many rows each of the jobs may read on each shard in the epoch that is planned now; others none.

        `limits`: rows a second. `plain`: whether it is known of a job that a row takes little time. `has_rows`: the
        epoch has rows for other jobs.
        """
        self._follow(job_ids)
        self._planned = {}
        now = self._now()
        if has_rows:
            self._last_busy = now
            if self._last_had_snapshot:
                return {}
        self._is_busy = now - self._last_busy < BUSY_FOR_SECONDS
        left = seconds = self._seconds()
        granted: dict[int, int] = {}
        for job in list(self._order):
            first = FIRST_ROWS if self._is_busy else ROWS_PER_EPOCH
            turn = self._turns.setdefault((job, self._is_busy), _SnapshotTurn(first, seconds))
            rows = self._fitting(job, turn.rows, plain)
            planned = self._seconds_of(job, turn)
            if granted and planned > left:
                break
            if job in limits:
                rows = min(rows, self._limited(job, limits[job], shards))
            if not rows:
                continue
            if job in limits:
                self._read_limited[job] = now
            granted[job] = rows
            self._planned[job] = planned
            left -= planned
            self._order.remove(job)
            self._order.append(job)
        return granted

    def may_read(self, job_ids: Collection[int], limits: Mapping[int, int]) -> bool:
        """Whether one of the jobs may read now."""
        return any(job not in limits or self._limited(job, limits[job], 1) for job in job_ids)

    def seconds_left(self, job_ids: Collection[int], limits: Mapping[int, int]) -> float | None:
        """After how long a limited job may read again; None: never, or nothing is limited."""
        now = self._now()
        waits = [self._read_limited.get(job, now) + _pause(limits[job]) - now for job in job_ids if limits.get(job)]
        return max(min(waits), 0.001) if waits else None

    def measured(
        self, granted: Mapping[int, int], seconds: float, work: Mapping[int, int] = MappingProxyType({})
    ) -> None:
        """Records an epoch of so many seconds, in which these jobs read (rows per shard).

        `work`: by job, what it took in proportion to the others. Without it all have taken as much.
        """
        self._last_had_snapshot = bool(granted)
        self._learn(granted, seconds, work)
        if not granted:
            if seconds < QUIET_SECONDS:
                self._plain_seconds = _MEMORY * self._plain_seconds + (1 - _MEMORY) * seconds
            return
        turns = {job: self._turns[job, self._is_busy] for job in granted if (job, self._is_busy) in self._turns}
        slower = seconds / max(sum(self._planned.get(job, turn.seconds) for job, turn in turns.items()), 1e-6)
        for job, turn in turns.items():
            if granted[job] < turn.rows:
                continue  # it was limited, and says nothing about a whole turn
            turn.seconds *= slower ** (1 - _MEMORY) if len(turns) > 1 else slower
            if not self._is_busy:
                continue
            change = min(2.0, max(0.5, self._seconds() / turn.seconds))
            rows = min(ROWS_PER_EPOCH, max(LEAST_ROWS, int(turn.rows * change)))
            if not 0.8 < change < 1.25:
                turn.seconds *= rows / turn.rows if rows < turn.rows else 1.0
                turn.rows = rows

    def _fitting(self, job: int, rows: int, plain: Callable[[int], bool]) -> int:
        """How many of `rows` the job may read, by what its rows took until now."""
        if job not in self._bearable and job not in self._plain:
            if plain(job):
                self._plain.add(job)
            else:
                self._bearable[job] = TRIED_ROWS
        return min(rows, self._bearable.get(job, rows))

    def _seconds_of(self, job: int, turn: _SnapshotTurn) -> float:
        """How long a job's turn should take in the planned epoch."""
        is_tried = job in self._bearable and job not in self._costs and not self._is_busy
        return min(turn.seconds, QUIET_SECONDS / TRIED_TOGETHER) if is_tried else turn.seconds

    def _learn(self, granted: Mapping[int, int], seconds: float, work: Mapping[int, int]) -> None:
        """Finds out what these jobs may read the next time, after an epoch of so many seconds."""
        whole = sum(work.get(job, 0) for job in granted)
        for job in granted.keys() & self._bearable.keys():
            share = work.get(job, 0) / whole if whole else 1 / len(granted)
            own = seconds - max(0.0, seconds - self._plain_seconds) * (1 - share)
            cost = self._costs.setdefault(job, _Cost())
            cost.note(granted[job], own)
            change, taken = self._change(cost, granted[job], own)
            changed = int(granted[job] * change)
            if change >= 1.0:
                self._bearable[job] = max(self._bearable[job], min(ROWS_PER_EPOCH, changed))
            elif taken > TOO_LONG_SECONDS:
                self._bearable[job] = max(TRIED_ROWS, changed)

    def _change(self, cost: _Cost, rows: int, seconds: float) -> tuple[float, float]:
        """By how much a job's rows may grow, or should shrink, and the seconds that they took."""
        line = cost.line()
        if line is not None:
            bearable = max(QUIET_SECONDS, line[0])  # others wait so long anyway
            taken = max(line[1] * rows, 1e-4)
        else:
            bearable, taken = QUIET_SECONDS, max(seconds - self._plain_seconds, 1e-4)
            if taken > bearable:
                return 2.0, taken  # the next turn tells whether it was the rows
        return min(MOST_GROWTH, max(LEAST_GROWTH, bearable / taken)), taken

    def _seconds(self) -> float:
        """How long an epoch may take."""
        return max(LEAST_BUSY_SECONDS, BUSY_TIMES * self._plain_seconds) if self._is_busy else QUIET_SECONDS

    def _follow(self, job_ids: Collection[int]) -> None:
        """These jobs read snapshots now."""
        known = set(self._order)
        if known != set(job_ids):
            reading = set(job_ids)
            self._order = [job for job in self._order if job in job_ids] + [j for j in job_ids if j not in known]
            self._turns = {key: turn for key, turn in self._turns.items() if key[0] in job_ids}
            self._plain &= reading
            self._bearable = {job: rows for job, rows in self._bearable.items() if job in reading}
            self._costs = {job: cost for job, cost in self._costs.items() if job in reading}
            self._read_limited = {job: at for job, at in self._read_limited.items() if job in job_ids}

    def _limited(self, job: int, limit: int, shards: int) -> int:
        """How many rows a limited job may read on each shard now; 0 while it is too early."""
        if not limit:
            return 0
        now = self._now()
        since = now - self._read_limited.setdefault(job, now - _pause(limit))
        if since < _pause(limit) * 0.999:
            return 0
        return max(1, int(limit * min(since, _LIMIT_BURST_SECONDS)) // shards)


def _pause(limit: int) -> float:
    """How long a job waits that may read `limit` rows a second."""
    return max(_LIMIT_PAUSE_SECONDS, 1 / limit)
