"""Runs the fragments of a stage on a shard; in one process, all stages of all shards.

A fragment reads payloads of earlier stages, the epoch's own input, and the changes of the tables that it scans. Another
fragment on the same shard has made those changes, in the same task or in an earlier stage.
A fragment's output goes to the fragments that have it as an exchange input. If it is a relation, it also goes to all
fragments that scan it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import TypeAlias

import pyarrow as pa

from risingpy.errors import DiskFailure
from risingpy.executors.epoch.exchange import (
    PORTS_PER_FRAGMENT,
    from_payload,
    input_port,
    split_by_shard,
    table_port,
    to_payloads,
)
from risingpy.executors.epoch.input import EpochInput
from risingpy.executors.epoch.loaded_graph import LoadedGraph
from risingpy.executors.epoch.operator_tree import FragmentEpoch
from risingpy.executors.epoch.shard_threads import OnShards
from risingpy.executors.epoch.shared_outputs import SharedOutputs
from risingpy.executors.epoch.source_reading import Rejected, SourceFailed
from risingpy.executors.epoch.turn import Repetitions, Turn
from risingpy.executors.few_rows.chunk import Chunk, FewRows, joined, table_of
from risingpy.executors.few_rows.shards import split_few
from risingpy.executors.recursion.pending_levels import PendingLevels, lowest_level
from risingpy.executors.relation.changelog import ChangelogExecutor
from risingpy.plan.graph import ExchangeSource, Fragment
from risingpy.plan.operator_work import OperatorPosition, WorkFigures
from risingpy.plan.operators import Changelog, Materialize
from risingpy.plan.properties import DistributionKind
from risingpy.plan.recursion.loops import STEP
from risingpy.storage.engine.shard_store import EpochTransaction, ShardStore
from risingpy.storage.journal.entries import Delta

Payload = tuple[int, int, bytes]  # shard, port, Arrow IPC
Follow: TypeAlias = Callable[[int, Fragment, pa.Table], None]


class Received(defaultdict[int, list[Chunk]]):
    """The rows for a task's fragments, by port. `levels`: what has come back to recursions and waits, by port."""

    def __init__(self) -> None:
        super().__init__(list)
        self.levels: defaultdict[int, PendingLevels] = defaultdict(PendingLevels)

    def add(self, graph: LoadedGraph, port: int, rows: Chunk) -> None:
        """Takes rows that were sent."""
        if port in graph.levels:
            self.levels[port].add(rows)
        else:
            self[port].append(rows)

    def bring_due(self, turn: Turn) -> None:
        """Lets the levels whose turn it is come to their recursions; all others wait."""
        for fragment_id, level in turn.levels.items():
            port = input_port(fragment_id, STEP)
            due = self.levels[port].take(level) if port in self.levels else None
            if due is not None:
                self[port].append(due)


_NOTHING = pa.table({"op": pa.array([], pa.int8())})


class FragmentFailed(Exception):
    """A job's own computation failed; it would fail again if it were repeated."""

    def __init__(self, job_id: int, fragment_id: int, error: BaseException) -> None:
        super().__init__(job_id, fragment_id, error)
        self.job_id = job_id
        self.fragment_id = fragment_id
        self.error = error

    def __str__(self) -> str:
        return f"fragment {self.fragment_id} of job {self.job_id} failed: {type(self.error).__name__}: {self.error}"


@dataclass(slots=True)
class StageReport:
    """What happened in a task: failed expressions per job, progress of backfills.

    `backfill`: per job, the rows read from snapshots, and whether all its scans in this task have finished. `work`: of
    the operators that had rows. `watermarks`: by id, the greatest value in the task's rows. `rejected`: the messages of
    sources that did not decode. `deltas`: what its transactions have changed, where shared storage has the truth.
    `pending`: by the fragment of a recursion, the lowest level of the changes that have gone back to it or wait there.
    `repetition`: that of the task's turn.
    """

    errors: dict[int, int] = field(default_factory=dict)
    backfill: dict[int, tuple[int, bool]] = field(default_factory=dict)
    work: dict[OperatorPosition, WorkFigures] = field(default_factory=dict)
    watermarks: dict[int, int] = field(default_factory=dict)
    rejected: list[Rejected] = field(default_factory=list)
    deltas: list[Delta] = field(default_factory=list)
    pending: dict[int, int] = field(default_factory=dict)
    repetition: int = 0

    def note_pending(self, fragment_id: int, level: int) -> None:
        """Adds that a recursion has changes of this level, or waits for its turn."""
        self.pending[fragment_id] = min(level, self.pending.get(fragment_id, level))

    def note_delta(self, transaction: EpochTransaction) -> None:
        """Adds what a transaction that is committed has changed."""
        if transaction.delta is not None:
            self.deltas.append(transaction.delta)


@dataclass(slots=True)
class StageOutput:
    """The payloads for later stages, and the report."""

    payloads: list[Payload] = field(default_factory=list)
    report: StageReport = field(default_factory=StageReport)


def run_stage(
    graph: LoadedGraph,
    turn: Turn,
    shard: int,
    transaction: EpochTransaction,
    epoch_input: EpochInput,
    payloads: Iterable[tuple[int, bytes | pa.Buffer]],
) -> StageOutput:
    """Runs the fragments of a turn. Their state changes go into `transaction`, which the caller commits.

    Raises FragmentFailed if a fragment's computation fails.
    """
    received = Received()
    output = StageOutput(report=StageReport(repetition=turn.repetition))
    for port, payload in payloads:
        if graph.runs_in(turn, port // PORTS_PER_FRAGMENT):
            received.add(graph, port, from_payload(payload))
        else:
            output.payloads.append((shard, port, _as_bytes(payload)))
    for target, port, rows in _run_fragments(graph, turn, shard, transaction, epoch_input, received, output.report):
        output.payloads.extend((target, port, payload) for payload in to_payloads(table_of(rows)))
    for port, waiting in received.levels.items():
        rest = waiting.take_all()
        if rest is not None:
            output.payloads.extend((shard, port, payload) for payload in to_payloads(table_of(rest)))
    return output


def run_epoch_in_process(
    graph: LoadedGraph,
    stores: Sequence[ShardStore],
    epoch: int,
    epoch_inputs: Sequence[EpochInput],
    *,
    committed: int,
    on_shards: OnShards,
    received: Sequence[Received] = (),
    follow: Follow | None = None,
) -> list[StageReport]:
    """Runs all stages on all shards, with one transaction per shard, and commits every shard.

    `on_shards` runs the shards in turn (`one_by_one`) or in parallel (a `ShardThreads`). `received` are rows that come
    to fragments from elsewhere, for each shard. `follow` is called with each output: the shard, its fragment, the rows.
    """
    shards = range(len(stores))
    received = received or [Received() for _ in stores]
    transactions = [store.begin(epoch, 0, committed=committed) for store in stores]
    reports: list[StageReport] = []
    repetitions = Repetitions()

    def run(shard: int, turn: Turn) -> tuple[StageReport, list[tuple[int, int, Chunk]]]:
        report = StageReport(repetition=turn.repetition)
        sent = _run_fragments(
            graph, turn, shard, transactions[shard], epoch_inputs[shard], received[shard], report, follow
        )
        return report, list(sent)

    try:
        on_shards(lambda shard: transactions[shard].__enter__(), shards)
        for turn in chain.from_iterable(repetitions.chains(graph.stages)):
            for report, sent in on_shards(partial(run, turn=turn), shards):
                reports.append(report)
                repetitions.note(report.pending)
                for target, port, rows in sent:
                    received[target].add(graph, port, rows)
        on_shards(lambda shard: transactions[shard].commit(), shards)
        written = StageReport()
        for transaction in transactions:
            written.note_delta(transaction)
        reports.append(written)
    finally:
        on_shards(lambda shard: transactions[shard].__exit__(None, None, None), shards)
    return reports


def _run_fragments(
    graph: LoadedGraph,
    turn: Turn,
    shard: int,
    transaction: EpochTransaction,
    epoch_input: EpochInput,
    received: Received,
    report: StageReport,
    follow: Follow | None = None,
) -> Iterator[tuple[int, int, Chunk]]:
    """Runs a turn's fragments on a shard; yields (shard, port, rows) for later turns as they are made."""
    changes: dict[int, Chunk] = {}
    shared = SharedOutputs(graph.shared_outputs)
    received.bring_due(turn)
    for fragment in graph.fragments_of(turn):
        held = None
        if fragment.job_id in graph.set_aside:
            delta: Chunk = _take_over(fragment, shard, transaction, epoch_input, changes)
        elif _is_idle(graph, fragment, turn, epoch_input, received, changes):
            continue
        else:
            level = turn.levels.get(fragment.fragment_id, 0)
            run = FragmentEpoch(transaction, epoch_input, shard, graph.shards, fragment.job_id, level=level)
            delta = _run_fragment(graph, fragment, run, received, changes, report, shared)
            held = run.held
        if delta.num_rows and follow is not None:
            follow(shard, fragment, table_of(delta))
        for target, port, rows in _send(graph, fragment, delta, held, shard):
            if port in graph.levels:  # another turn's, even if its stage is this one
                report.note_pending(graph.levels[port], lowest_level(rows))
                yield target, port, rows
            elif graph.stage_of[port // PORTS_PER_FRAGMENT] == turn.stage:  # rows that stay on their shard
                received[port].append(rows)
            else:
                yield target, port, rows
    for port, waiting in received.levels.items():
        if waiting.lowest is not None:
            report.note_pending(graph.levels[port], waiting.lowest)


def _is_idle(
    graph: LoadedGraph,
    fragment: Fragment,
    turn: Turn,
    epoch_input: EpochInput,
    received: Received,
    changes: Mapping[int, Chunk],
) -> bool:
    """Whether the fragment has nothing to do, as most have in most epochs. The check takes a microsecond."""
    for port in graph.ports[fragment.fragment_id]:  # `any` of a generator would take as long as all the rest
        if port in received:
            return False
    if turn.repetition:
        return True
    for table_id in fragment.upstream_tables:
        if table_id in changes:
            return False
    job_id = fragment.job_id
    backfills = epoch_input.is_backfilling(job_id) and (
        epoch_input.snapshot_rows(job_id) > 0 or epoch_input.first_epoch_of(job_id)
    )
    return not backfills and graph.waits_for_rows(fragment)


def _run_fragment(
    graph: LoadedGraph,
    fragment: Fragment,
    run: FragmentEpoch,
    received: Received,
    changes: dict[int, Chunk],
    report: StageReport,
    shared: SharedOutputs,
) -> Chunk:
    """Runs one fragment, and adds the changes of the relation that it writes to `changes`."""
    epoch_input = run.epoch_input
    run.upstream = upstream = _upstream_of(fragment, received, changes)
    try:
        tree = graph.tree(fragment)
        # What is taken does not come again, if the fragment runs once more in this epoch.
        run.inputs = inputs = [
            joined(received.pop(input_port(fragment.fragment_id, index), ()) or [empty])
            for index, empty in enumerate(tree.empty_inputs)
        ]
        if not epoch_input.is_backfilling(fragment.job_id):
            run.shared = shared
        if fragment.job_id not in graph.limited:
            delta = tree.run(run)
        elif tree.is_few and _are_few(inputs) and _are_few(upstream.values()):
            # A few rows take no time worth a limit, and to set one takes as long: whatever needs columns is in one.
            run.limited = lambda: epoch_input.limited(fragment.job_id)
            delta = tree.run(run)
        else:
            with epoch_input.limited(fragment.job_id):
                delta = tree.run(run)
    except (OSError, DiskFailure, SourceFailed):
        raise  # not the job's fault
    except Exception as error:
        raise FragmentFailed(fragment.job_id, fragment.fragment_id, error) from error
    if isinstance(fragment.root, Materialize) and delta.num_rows:
        changes[fragment.root.table.table_id] = delta
    _note(report, fragment, run)
    return delta


def _upstream_of(fragment: Fragment, received: Received, changes: Mapping[int, Chunk]) -> dict[int, Chunk]:
    """The changes of the tables that a fragment scans."""
    upstream: dict[int, Chunk] = {}
    for index, table_id in enumerate(fragment.upstream_tables):
        passed_on = received.pop(table_port(fragment.fragment_id, index), ())
        if table_id in changes:
            upstream[table_id] = changes[table_id]
        elif passed_on:
            upstream[table_id] = joined(passed_on)
    return upstream


def _are_few(chunks: Iterable[Chunk]) -> bool:
    return all(isinstance(rows, FewRows) or not rows.num_rows for rows in chunks)


def _take_over(
    fragment: Fragment,
    shard: int,
    transaction: EpochTransaction,
    epoch_input: EpochInput,
    changes: dict[int, Chunk],
) -> pa.Table:
    """Stores what a job has done in epochs of its own, and returns how its relation changes by it."""
    handed = epoch_input.handed_over(fragment.job_id)
    if handed is None:
        return _NOTHING
    # The changelog of a sink is read by epochs: what readers have passed must not grow. So its blocks are made here,
    # and belong to this epoch. All other rows are stored as they are.
    root = fragment.root
    kept = handed.rows if not isinstance(root, Changelog) else handed.rows_without(root.table.table_id)
    for batch in kept:
        transaction.put_rows(batch)
    delta = handed.delta
    if isinstance(root, Changelog) and delta.num_rows:
        table = transaction.state_table(root.table)
        ChangelogExecutor(table=table, epoch=epoch_input.epoch, shard=shard).execute([delta])
    if isinstance(root, Materialize) and delta.num_rows:
        changes[root.table.table_id] = delta
    return delta


def _note(report: StageReport, fragment: Fragment, run: FragmentEpoch) -> None:
    """Adds what a run has left to be reported; most leave nothing but the operators' work."""
    job_id = fragment.job_id
    if run.errors:
        report.errors[job_id] = report.errors.get(job_id, 0) + run.errors
    if run.backfill is not None:
        rows, finished = report.backfill.get(job_id, (0, True))
        report.backfill[job_id] = (rows + run.backfill[0], finished and run.backfill[1])
    if run.rejected:
        report.rejected += run.rejected
    if run.reached:
        report.watermarks.update(run.reached)
    for number, work in run.work.items():
        report.work[fragment.fragment_id, number] = work


def _send(
    graph: LoadedGraph, fragment: Fragment, delta: Chunk, held: pa.Table | None, shard: int
) -> Iterator[tuple[int, int, Chunk]]:
    """Yields (shard, port, rows) for the readers of a fragment; what it has held goes back to itself."""
    if held is not None:
        yield shard, input_port(fragment.fragment_id, STEP), held
    if not delta.num_rows:
        return
    shards = graph.shards
    for port, source in graph.consumers.get(fragment.fragment_id, ()):
        if not source.moves:
            yield shard, port, delta
            continue
        distribution = source.distribution
        if distribution.kind is DistributionKind.BROADCAST:
            for target in range(shards):
                yield target, port, delta
        else:
            for target, rows in _split(graph, port, delta, source):
                yield target, port, rows
    if isinstance(fragment.root, Materialize):
        for port in graph.later_readers.get(fragment.root.table.table_id, ()):
            yield shard, port, delta


def _split(graph: LoadedGraph, port: int, delta: Chunk, source: ExchangeSource) -> Iterator[tuple[int, Chunk]]:
    columns = source.distribution.columns
    owner_of = graph.row_shards(port, delta, columns) if isinstance(delta, FewRows) and not source.types else None
    if isinstance(delta, FewRows) and owner_of is not None:
        return split_few(delta, owner_of)
    return split_by_shard(table_of(delta), columns, graph.shards, source.types)


def _as_bytes(payload: bytes | pa.Buffer) -> bytes:
    return payload if isinstance(payload, bytes) else payload.to_pybytes()
