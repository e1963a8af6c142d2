"""Decides which rows of the external sources the next epoch reads.

Each job has its own offsets: a view begins where the source's options say, whatever other views have already read.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from risingpy.connectors.secrets.vault import Vault
from risingpy.connectors.seekable import SplitEnd
from risingpy.executors.epoch.descriptor import SplitRange
from risingpy.executors.epoch.source_reading import SourceFailed
from risingpy.meta.epochs.source_watcher import SourceStatus, SourceWatcher
from risingpy.meta.state import MetaState
from risingpy.plan.catalog import ExternalSource
from risingpy.plan.graph import Job
from risingpy.plan.operators import Source
from risingpy.plan.traversal import nodes_of_fragment

MOST_MESSAGES = 1 << 18  # of an epoch: their bytes are not known
MOST_SPLITS_IN_TURN = (
    100  # of an epoch and source: to open a file takes milliseconds, and other jobs wait for the epoch
)
ANSWER_SECONDS = 5.0  # how long a statement waits for another system
PACE_SECONDS = 0.1  # how often a limited source is read
FINISHED = 1 << 62  # the position of a job in a split that was read up to a final end

Offsets = Mapping[int, Mapping[int, Mapping[str, int]]]  # by job, source, split


@dataclass(frozen=True, slots=True)
class _NewRange:
    """The positions of a split that a job has not read. It may be empty: then the job has not seen the split yet."""

    job_id: int
    source_id: int
    split: str
    start: int
    end: SplitEnd

    @property
    def length(self) -> int:
        return max(self.end.end - self.start, 0)

    def first(self, length: int, ordinal: int) -> SplitRange:
        """The range of its first positions."""
        return SplitRange(
            self.job_id,
            self.source_id,
            self.split,
            self.start,
            self.start + length,
            ordinal,
            self.end.row_positions,
        )

    def after(self, length: int) -> int:
        """The job's position when it has read so much more."""
        return FINISHED if self.end.is_final and length == self.length else self.start + length


@dataclass(frozen=True, slots=True)
class NextRanges:
    """What an epoch reads: ranges, the offsets after it, about how many rows, and whether the offsets move at all.

    They also move where a job first sees a split that has nothing for it, which is to stay where it is now.
    """

    ranges: tuple[SplitRange, ...]
    offsets: Offsets
    rows: int
    moves: bool


class SourceOffsets:
    """Finds new rows of the sources that running jobs read. For the barrier loop's thread, except where it says so."""

    def __init__(self, vault: Vault, wake: Callable[[], None]) -> None:
        """`wake` is called, in any thread, when a source has news."""
        self._vault = vault
        self._guard = threading.Lock()
        self._watchers: dict[int, SourceWatcher] = {}
        self._wake = wake
        # A cache: (the last jobs and catalog, the sources that each job reads). Every epoch asks several times.
        self._known: tuple[object, object, list[tuple[int, int]]] = ({}, {}, [])
        self._paces: dict[tuple[int, int], _Pace] = {}

    def pause_seconds(self, state: MetaState) -> float | None:
        """How long the loop may sleep without news; None: for ever."""
        limited = (self._watcher(state, source).rate_limit for _, source in self._readers(state))
        return PACE_SECONDS if any(limited) else None

    def available(self, state: MetaState) -> bool:
        """True if a source has rows that some job has not read and may read now, or splits that it has not seen."""
        return any(self._budget(state, new) or not new.length for new in self._new_ranges(state))

    def newest(self, state: MetaState, job_id: int | None = None) -> Offsets:
        """The offsets at which the sources in use end now, of one job or of all; paused sources are left out.

        Any thread may call it. It asks the other systems, and leaves out those that do not answer within 5 s.
        """
        deadline = time.monotonic() + ANSWER_SECONDS
        ends: dict[int, dict[int, dict[str, int]]] = {}
        for job, source_id in self._readers(state):
            watcher = self._watcher(state, source_id)
            if job_id not in (None, job) or watcher.rate_limit == 0:
                continue
            status = watcher.refresh(max(deadline - time.monotonic(), 0.0))
            if status.failure is None and status.ends is not None:
                ends.setdefault(job, {})[source_id] = {split: end.end for split, end in status.ends.items()}
        return ends

    def status(self, state: MetaState) -> Iterator[tuple[int, ExternalSource, SourceStatus]]:
        """What is known of each source that a job reads: (job, source, status). Any thread may call it."""
        for job_id, source_id in self._readers(state):
            watcher = self._watcher(state, source_id)
            yield job_id, watcher.source, watcher.status

    def answers(self, source_id: int, split: str) -> bool:
        """Whether a split is still there, and nothing is known to be wrong with its source. Any thread may call it."""
        with self._guard:
            watcher = self._watchers.get(source_id)
        if watcher is None:
            return True
        status = watcher.status
        return status.failure is None and (status.ends is None or split in status.ends)

    def failed(self, failure: SourceFailed) -> None:
        """A task could not read the source: epochs run without it for a while."""
        with self._guard:
            watcher = self._watchers.get(failure.source_id)
        if watcher is not None:
            watcher.failed(failure.reason)

    def next_ranges(self, state: MetaState, most_rows: int) -> NextRanges:
        """As much as fits. Splits of messages share an epoch evenly, but for those with final ends."""
        offsets = {
            job_id: {source: dict(splits) for source, splits in sources.items()}
            for job_id, sources in state.committed.offsets.items()
            if job_id in state.jobs
        }
        ranges: list[SplitRange] = []
        rows, moves = 0, False
        by_reader: dict[tuple[int, int], list[_NewRange]] = {}
        for new in self._new_ranges(state):
            by_reader.setdefault((new.job_id, new.source_id), []).append(new)
        for (job_id, source_id), found in by_reader.items():
            budget = min(most_rows - rows, self._budget(state, found[0]))
            known = offsets.setdefault(job_id, {}).setdefault(source_id, {})
            shared = self._watcher(state, source_id).gives_messages and not found[0].end.is_final
            ordinals = {split: place for place, split in enumerate(known)}
            positions = budget * found[0].end.row_positions
            taken = 0
            in_turn = islice(_in_turn(found, positions), MOST_SPLITS_IN_TURN)
            for new, length in _shared(found, positions) if shared else in_turn:
                known[new.split] = new.after(length)
                moves = True
                ordinal = ordinals.setdefault(new.split, len(ordinals))
                if length:
                    ranges.append(new.first(length, ordinal))
                    taken += ranges[-1].rows
            self._pace(job_id, source_id).take(taken)
            rows += taken
        return NextRanges(tuple(ranges), offsets, rows, moves)

    def close(self) -> None:
        with self._guard:
            for watcher in self._watchers.values():
                watcher.stop()
            self._watchers.clear()

    def _budget(self, state: MetaState, new: _NewRange) -> int:
        """How many rows a job may read of a source now."""
        watcher = self._watcher(state, new.source_id)
        most = MOST_MESSAGES if watcher.gives_messages else 1 << 62
        if watcher.rate_limit is None:
            return most
        return min(most, self._pace(new.job_id, new.source_id).allowed(watcher.rate_limit))

    def _pace(self, job_id: int, source_id: int) -> _Pace:
        return self._paces.setdefault((job_id, source_id), _Pace())

    def _readers(self, state: MetaState) -> list[tuple[int, int]]:
        """(job, source) of every job that reads a source."""
        jobs, catalog, readers = self._known
        if jobs is not state.jobs or catalog is not state.catalog:
            sources = state.catalog.sources
            looked = state.jobs.values() if sources else ()  # to look through all of them takes long
            readers = [(job.job_id, source) for job in looked for source in sorted(_source_ids(job))]
            self._follow(sources, {source for _, source in readers})
            self._paces = {reader: pace for reader, pace in self._paces.items() if reader in readers}
            self._known = (state.jobs, state.catalog, readers)
        return readers

    def _follow(self, sources: Mapping[int, ExternalSource], read: set[int]) -> None:
        """Stops the watchers of sources that are gone or were altered, and lets the others know whether they matter."""
        with self._guard:
            for source_id, watcher in list(self._watchers.items()):
                if watcher.source != sources.get(source_id):
                    watcher.stop()
                    del self._watchers[source_id]
                else:
                    watcher.follow(source_id in read)

    def _watcher(self, state: MetaState, source_id: int) -> SourceWatcher:
        with self._guard:
            found = self._watchers.get(source_id)
            if found is None:
                found = self._watchers[source_id] = SourceWatcher(
                    state.catalog.sources[source_id], self._vault, self._wake
                )
                found.follow(True)
            return found

    def _new_ranges(self, state: MetaState) -> Iterator[_NewRange]:
        """What jobs have not read, and the splits that they have not seen, of the sources that answer."""
        for job_id, source_id in self._readers(state):
            watcher = self._watcher(state, source_id)
            if watcher.is_standing:
                continue
            known = state.committed.offsets.get(job_id, {}).get(source_id, {})
            ends = watcher.status.ends or {}
            ahead = next((s for s, end in ends.items() if known.get(s, 0) > end.end and not end.is_final), None)
            if ahead is not None:  # to go on would leave out what is new in it
                position, last = known[ahead], ends[ahead].end
                watcher.failed(_lost(ahead, last, position))
                continue
            for split, end in ends.items():
                start = max(known[split], end.first) if split in known else _first_position(end, bool(known))
                if start < end.end or split not in known:
                    yield _NewRange(job_id, source_id, split, start, end)


def _lost(split: str, end: int, position: int) -> str:
    return f'split "{split}" ends at {end}, but was read up to {position}: it was made anew, or has lost its newest'


class _Pace:
    """How many rows a job may read of a limited source: what has come together since it last read, of one second."""

    def __init__(self) -> None:
        self._since = time.monotonic()

    def allowed(self, rows_a_second: int) -> int:
        return int(min(time.monotonic() - self._since, 1.0) * rows_a_second)

    def take(self, rows: int) -> None:
        if rows:
            self._since = time.monotonic()


def reached(committed: Offsets, target: Offsets) -> bool:
    """True if every job has read every split of `target` up to its offset."""
    return all(
        committed.get(job_id, {}).get(source, {}).get(split, 0) >= end
        for job_id, sources in target.items()
        for source, splits in sources.items()
        for split, end in splits.items()
    )


def _first_position(end: SplitEnd, began: bool) -> int:
    """Where a job begins a split. One that came after the job began is read from its first position."""
    return end.first if began else end.start


def _in_turn(found: Iterable[_NewRange], budget: int) -> Iterator[tuple[_NewRange, int]]:
    """As many whole splits as fit, and a part of the next one."""
    for new in found:
        length = min(new.length, budget)
        budget -= length
        if length or not new.length:
            yield new, length


def _shared(found: list[_NewRange], budget: int) -> Iterator[tuple[_NewRange, int]]:
    """The same of each split, and what short ones leave for the others."""
    ascending = sorted(found, key=lambda new: new.length)
    for k, new in enumerate(ascending):
        length = min(new.length, budget // (len(ascending) - k))
        budget -= length
        if length or not new.length:
            yield new, length


def _source_ids(job: Job) -> set[int]:
    """The sources that a job reads."""
    return {
        node.source_id
        for fragment in job.fragments
        for node in nodes_of_fragment(fragment.root)
        if isinstance(node, Source)
    }
