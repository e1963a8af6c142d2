"""Which rows of the external sources the next epoch takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from risingpy.connectors.file_source import FileSourceOptions, count_rows, list_files
from risingpy.executors.epoch_descriptor import SplitRange
from risingpy.meta.state import MetaState
from risingpy.optimizer.catalog import Relation
from risingpy.optimizer.graph import Job
from risingpy.optimizer.plan import Source, StreamPlan

POLL_SECONDS = 0.05  # how often directories are looked at while a view reads a source

Offsets = Mapping[int, Mapping[str, int]]


class SourceOffsets:
    """Finds new rows of the sources that running jobs read. Used by the barrier loop's thread but for `newest`."""

    def poll_seconds(self, state: MetaState) -> float | None:
        """How long the loop may sleep: without end if no job reads a source."""
        return POLL_SECONDS if _sources_in_use(state) else None

    def available(self, state: MetaState) -> bool:
        """True if some source has rows beyond the committed offsets."""
        return any(True for relation in _sources_in_use(state) for _ in _new_ranges(relation, state.committed.offsets))

    def newest(self, state: MetaState) -> Offsets:
        """Where the sources in use end now. May be called from any thread."""
        return {
            relation.relation_id: {split: end for split, _, end in _new_ranges(relation, {})}
            for relation in _sources_in_use(state)
        }

    def next_ranges(self, state: MetaState, most_rows: int) -> tuple[tuple[SplitRange, ...], Offsets, int]:
        """(ranges, offsets after them, rows): whole files as long as they fit, at least a part of one if any is new."""
        offsets = {source: dict(splits) for source, splits in state.committed.offsets.items()}
        ranges: list[SplitRange] = []
        rows = 0
        for relation in _sources_in_use(state):
            for split, start, end in _new_ranges(relation, state.committed.offsets):
                end = min(end, start + most_rows - rows)
                if end <= start:
                    break
                known = offsets.setdefault(relation.relation_id, {})
                known[split] = end
                ordinal = list(known).index(split)
                ranges.append(SplitRange(relation.relation_id, split, start, end, ordinal))
                rows += end - start
        return tuple(ranges), offsets, rows


def _sources_in_use(state: MetaState) -> list[Relation]:
    used = {source for job in state.jobs.values() for source in source_ids(job)}
    return [state.catalog.relations[source] for source in sorted(used)]


def _new_ranges(relation: Relation, committed: Offsets) -> Iterator[tuple[str, int, int]]:
    options = FileSourceOptions.parse(dict(relation.options))
    known = committed.get(relation.relation_id, {})
    for path in list_files(options):
        start, end = known.get(path, 0), count_rows(path, options.format)
        if start < end:
            yield path, start, end


def source_ids(job: Job) -> set[int]:
    """The sources that a job reads."""
    return {source for fragment in job.fragments for source in _sources_below(fragment.root)}


def _sources_below(plan: StreamPlan) -> Iterator[int]:
    if isinstance(plan, Source):
        yield plan.source_id
    below = getattr(plan, "inputs", None) or (getattr(plan, "input", None),)
    for child in below:
        if child is not None:
            yield from _sources_below(child)


def reached(committed: Offsets, target: Offsets) -> bool:
    """True if every split of `target` is committed up to its offset."""
    return all(
        committed.get(source, {}).get(split, 0) >= end
        for source, splits in target.items()
        for split, end in splits.items()
    )
