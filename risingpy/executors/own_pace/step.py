"""One epoch of a job's own: takes the changes that its feeds have kept, and leaves what the shards are to take over."""

from __future__ import annotations

import pickle
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from risingpy.executors.change_chunk import consolidated
from risingpy.executors.epoch.exchange import split_by_shard, table_port
from risingpy.executors.epoch.handed_over import HandedOver, make_durable, write_handed_over
from risingpy.executors.epoch.loaded_graph import LoadedGraph
from risingpy.executors.epoch.shard_threads import one_by_one
from risingpy.executors.epoch.source_reading import SourceRows
from risingpy.executors.epoch.stage_runner import FragmentFailed, Received, run_epoch_in_process
from risingpy.executors.own_pace.messages import InputChangelog, Step, StepDone, StepFailed
from risingpy.executors.own_pace.mirror import Mirror
from risingpy.executors.relation.changelog_reading import Changes, read_changes
from risingpy.memory import EPOCH_SHARE, share_of_memory
from risingpy.plan.graph import Fragment, StreamGraph
from risingpy.plan.set_aside import own_tables, root_fragment
from risingpy.statement_limits import StatementLimits, working_for
from risingpy.storage.engine.read_views import ReadView

_ALL_ROWS = 1 << 62


@dataclass(slots=True)
class _StepInput:
    """A step's input besides the changes of its feeds, for one shard."""

    epoch: int
    committed: int
    fresh: bool
    backfilling: bool
    watermarks: Mapping[int, int]
    limits: StatementLimits
    most_rows: int

    def first_epoch_of(self, job_id: int) -> bool:
        return self.fresh

    def watermark(self, watermark_id: int) -> int | None:
        return self.watermarks.get(watermark_id)

    def is_backfilling(self, job_id: int) -> bool:
        return self.backfilling

    def snapshot_rows(self, job_id: int) -> int:
        return self.most_rows

    def limited(self, job_id: int) -> AbstractContextManager[None]:
        return working_for(self.limits)

    def handed_over(self, job_id: int) -> HandedOver | None:
        return None

    def log_changes(self, table_id: int) -> pa.Table | None:
        return None

    def source_rows(self, job_id: int, source_id: int, columns: Sequence[int]) -> Iterator[SourceRows]:
        yield from ()


class OwnPaceJob:
    """A job in the process that runs it. `run` may be called for one step after the other."""

    def __init__(self, step: Step, view: ReadView) -> None:
        """Copies the job's state as it is in the view."""
        (self._job,) = step.graph.jobs
        self._version = step.graph.version
        self._graph = LoadedGraph(step.graph)
        self._root = root_fragment(self._job)
        self._mirror = Mirror(step.store, own_tables(self._job), view)
        self._committed = 0  # the last step that the copy has

    def is_of(self, graph: StreamGraph) -> bool:
        """Whether the job is this one, in the same form."""
        return graph.version == self._version and graph.jobs[0].job_id == self._job.job_id

    def run(self, step: Step, view: ReadView) -> StepDone | StepFailed:
        """Runs one epoch of the job's own. The view is of the step's `epoch`."""
        began = time.monotonic()
        feeds = [(feed, read_changes(feed.changelog, view, step.position, _rows_of(step))) for feed in step.feeds]
        up_to = min((changes.up_to for _, changes in feeds), default=step.epoch)
        if step.backfilling:
            up_to = step.epoch  # each feed was read whole
        received, taken = self._received(feeds, up_to, view.shards)
        if not (taken or step.backfilling or step.fresh):
            return StepDone(step.number, up_to, 0, time.monotonic() - began, changed=False)
        deltas: list[pa.Table | None] = [None] * view.shards

        def follow(shard: int, fragment: Fragment, delta: pa.Table) -> None:
            if fragment.fragment_id == self._root.fragment_id:
                deltas[shard] = delta

        try:
            with self._mirror.reading(view):
                reports = run_epoch_in_process(
                    self._graph,
                    self._mirror.shards,
                    up_to,
                    [self._input(step, up_to, view.shards)] * view.shards,
                    committed=self._committed,
                    on_shards=one_by_one,
                    received=received,
                    follow=follow,
                )
        except FragmentFailed as failure:
            return StepFailed(step.number, failure.fragment_id, failure.error)
        self._committed = up_to
        size, pieces = self._hand_over(step, deltas)
        rows = taken + sum(read for report in reports for read, _ in report.backfill.values())
        seconds = time.monotonic() - began
        done = StepDone(
            step.number,
            up_to,
            rows,
            seconds,
            changed=True,
            size=size,
            pieces=pieces,
            piece_bytes=step.piece_bytes,
            reports=tuple(reports),
        )
        if pieces > 1:
            keep_done(step.output, done)
        return done

    def close(self) -> None:
        """Closes the job's store."""
        self._mirror.close()

    def _input(self, step: Step, up_to: int, shards: int) -> _StepInput:
        limits = StatementLimits(
            share_of_memory(EPOCH_SHARE), setting="the server's --memory", written=share_of_memory(EPOCH_SHARE)
        )
        rows = max(step.most_rows // shards, 1)
        return _StepInput(up_to, step.position, step.fresh, step.backfilling, dict(step.watermarks), limits, rows)

    def _received(
        self, feeds: Sequence[tuple[InputChangelog, Changes]], up_to: int, shards: int
    ) -> tuple[list[Received], int]:
        """The changes up to an epoch, for the fragments that scan their tables, and how many there are."""
        received: list[Received] = [Received() for _ in range(shards)]
        taken = 0
        for feed, changes in feeds:
            parts = [each.rows for each in changes.epochs if each.epoch <= up_to]
            if not parts:
                continue
            # Rows that stood only between two of the epochs go: a delta has one row of a key before, and one after.
            delta = consolidated(pa.concat_tables(parts), feed.types)
            taken += delta.num_rows
            hashed = [feed.types[index] for index in feed.distribution]
            for shard, rows in split_by_shard(delta, feed.distribution, shards, hashed):
                for fragment in self._job.fragments:
                    for index, table_id in enumerate(fragment.upstream_tables):
                        if table_id == feed.table_id:
                            received[shard][table_port(fragment.fragment_id, index)].append(rows)
        return received, taken

    def _hand_over(self, step: Step, deltas: Sequence[pa.Table | None]) -> tuple[int, int]:
        """Writes the files; returns how many bytes the rows have, and of how many pieces they are."""
        step.output.mkdir(parents=True)
        size, pieces = 0, 1
        empty = pa.table({"op": pa.array([], pa.int8())})
        for number, (shard, delta) in enumerate(zip(self._mirror.shards, deltas, strict=True)):
            assert shard.transaction is not None
            written = shard.transaction.written
            size += sum(batch.keys.nbytes + batch.values.nbytes for batch in written)
            handed = HandedOver(written, empty if delta is None else delta)
            pieces = max(pieces, write_handed_over(step.output, number, handed, step.piece_bytes))
        return size, pieces


def keep_done(output: Path, done: StepDone) -> None:
    """Keeps what the step tells with its files, and makes all of them durable."""
    (output / "done").write_bytes(pickle.dumps(done))
    make_durable(output)


def kept_done(output: Path) -> StepDone:
    """What `keep_done` has kept. Raises OSError if it is not there."""
    done = pickle.loads((output / "done").read_bytes())
    assert isinstance(done, StepDone)
    return done


def _rows_of(step: Step) -> int:
    return _ALL_ROWS if step.backfilling else step.most_rows
