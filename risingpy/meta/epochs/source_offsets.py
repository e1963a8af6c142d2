"""Decides which rows of the external sources the next epoch reads.

Each job has its own offsets: a view begins with the source's first row, whatever other views have already read.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping

from risingpy.connectors.file_source import FileSourceOptions, count_rows, list_files
from risingpy.errors import IoError
from risingpy.executors.epoch.descriptor import SplitRange
from risingpy.meta.state import MetaState
from risingpy.plan.catalog import ExternalSource
from risingpy.plan.graph import Job
from risingpy.plan.operators import Source
from risingpy.plan.traversal import nodes_of_fragment

POLL_SECONDS = 0.05  # how often directories are listed while a view reads a source

LOG = logging.getLogger(__name__)

Offsets = Mapping[int, Mapping[int, Mapping[str, int]]]  # by job, source, split


class SourceOffsets:
    """Finds new rows of the sources that running jobs read. For the barrier loop's thread, except `newest`."""

    def __init__(self) -> None:
        # A cache: (the last jobs, the sources that each of them reads). Every epoch asks several times.
        self._known: tuple[Mapping[int, Job], list[tuple[int, int]]] = ({}, [])
        self._unreadable: set[str] = set()

    def poll_seconds(self, state: MetaState) -> float | None:
        """How long the loop may sleep; None (for ever) if no job reads a source."""
        return POLL_SECONDS if self._readers(state) else None

    def available(self, state: MetaState) -> bool:
        """True if a source has rows that some job has not read."""
        return any(True for _ in self._new_ranges(state, state.committed.offsets))

    def newest(self, state: MetaState) -> Offsets:
        """The offsets at which the sources in use end now. Any thread may call it."""
        ends: dict[int, dict[int, dict[str, int]]] = {}
        for job_id, source_id, split, _, end in self._new_ranges(state, {}):
            ends.setdefault(job_id, {}).setdefault(source_id, {})[split] = end
        return ends

    def next_ranges(self, state: MetaState, most_rows: int) -> tuple[tuple[SplitRange, ...], Offsets, int]:
        """(ranges, offsets after them, rows): as many whole files as fit, or a part of the first if it does not."""
        offsets = {
            job_id: {source: dict(splits) for source, splits in sources.items()}
            for job_id, sources in state.committed.offsets.items()
            if job_id in state.jobs
        }
        ranges: list[SplitRange] = []
        rows = 0
        for job_id, source_id, split, start, end in self._new_ranges(state, state.committed.offsets):
            end = min(end, start + most_rows - rows)
            if end <= start:
                break
            known = offsets.setdefault(job_id, {}).setdefault(source_id, {})
            known[split] = end
            ranges.append(SplitRange(job_id, source_id, split, start, end, list(known).index(split)))
            rows += end - start
        return tuple(ranges), offsets, rows

    def _readers(self, state: MetaState) -> list[tuple[int, int]]:
        """(job, source) of every job that reads a source."""
        known, readers = self._known
        if known is not state.jobs:
            there_are = any(isinstance(relation, ExternalSource) for relation in state.catalog.relations.values())
            jobs = state.jobs.values() if there_are else ()  # to look through all of them takes long
            readers = [(job.job_id, source) for job in jobs for source in sorted(_source_ids(job))]
            self._known = (state.jobs, readers)
        return readers

    def _new_ranges(self, state: MetaState, committed: Offsets) -> Iterator[tuple[int, int, str, int, int]]:
        """(job, source, split, start, end) of the rows after `committed`."""
        for job_id, source_id in self._readers(state):
            relation = state.catalog.relations[source_id]
            assert isinstance(relation, ExternalSource)
            options = FileSourceOptions.parse(dict(relation.options))
            known = committed.get(job_id, {}).get(source_id, {})
            for path in list_files(options):
                start, end = known.get(path, 0), self._rows_of(path, options.format)
                if start < end:
                    yield job_id, source_id, path, start, end

    def _rows_of(self, path: str, file_format: str) -> int:
        """The number of rows of a file; 0 while it cannot be read, because its writer may not have finished."""
        try:
            rows = count_rows(path, file_format)
        except IoError as error:
            if path not in self._unreadable:
                self._unreadable.add(path)
                LOG.warning("%s; it is left out until it can be", error)
            return 0
        self._unreadable.discard(path)
        return rows


def reached(committed: Offsets, target: Offsets) -> bool:
    """True if every job has read every split of `target` up to its offset."""
    return all(
        committed.get(job_id, {}).get(source, {}).get(split, 0) >= end
        for job_id, sources in target.items()
        for source, splits in sources.items()
        for split, end in splits.items()
    )


def _source_ids(job: Job) -> set[int]:
    """The sources that a job reads."""
    return {
        node.source_id
        for fragment in job.fragments
        for node in nodes_of_fragment(fragment.root)
        if isinstance(node, Source)
    }
