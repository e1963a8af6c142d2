"""A fragment as a tree of operators, which is kept from epoch to epoch, and an epoch's run of it.

To make an operator, its expressions must be compiled; to make its executor, only tables must be opened. So a process
makes the tree once per fragment. It makes executors in each epoch, and only those that have something to do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from time import perf_counter_ns
from typing import Protocol, cast

import pyarrow as pa

from risingpy.executors.epoch.input import EpochInput
from risingpy.executors.epoch.shared_outputs import OutputKey, SharedOutput, SharedOutputs
from risingpy.executors.epoch.source_reading import Rejected
from risingpy.executors.few_rows.chunk import Chunk, FewRows, table_of
from risingpy.plan.operator_work import WorkFigures, added
from risingpy.storage.engine.shard_store import EpochTransaction


class Executor(Protocol):
    """One operator in one epoch, made of its parameters and its state tables as of the epoch before."""

    def execute(self, inputs: Sequence[pa.Table]) -> pa.Table:
        """Returns the output's change, given the inputs' changes, and brings the state tables up to date.

        The promise of every executor: output = query(inputs after the epoch) − query(inputs before it), consolidated.
        """
        ...


class NotFew(Exception):
    """An executor of few rows cannot do it, for these rows or in this epoch, and has changed nothing."""


class FewExecutor(Protocol):
    """What an operator does with a few rows (`executors.few_rows`): the same as its executor, or it raises NotFew."""

    def __call__(self, epoch: FragmentEpoch, inputs: Sequence[FewRows]) -> Chunk: ...


@dataclass(slots=True)
class FragmentEpoch:
    """One epoch of one fragment on one shard: what its executors read, and what they report.

    `inputs` are the rows of the fragment's exchanges, `upstream` the changes of the tables that it scans (absent:
    none). `errors` counts expressions that failed. `backfill`: rows read from snapshots, and whether all scans have
    finished; None if the fragment has no scans. `work`: by number, of the operators that had rows. `reached`: by
    watermark, the greatest value in this epoch. `rejected`: messages of sources that did not decode. `recursive`: by
    number, the rows that the step of a recursion reads in this run. `shared`: what other fragments have computed, too;
    None if this one's scans do not pass on just the changes. `limited`: what operators that run on columns work in.
    `passed`: how many rows have satisfied the predicate of the executor of few rows that has just run. `level`: that
    whose turn it is, in the fragment of a StreamLevels; `held` are the rows that wait there for theirs.
    """

    transaction: EpochTransaction
    epoch_input: EpochInput
    shard: int
    shards: int
    job_id: int
    inputs: Sequence[Chunk] = ()
    upstream: Mapping[int, Chunk] = field(default_factory=dict)
    errors: int = 0
    backfill: tuple[int, bool] | None = None
    work: dict[int, WorkFigures] = field(default_factory=dict)
    reached: dict[int, int] = field(default_factory=dict)
    rejected: list[Rejected] = field(default_factory=list)
    recursive: Mapping[int, pa.Table] = field(default_factory=dict)
    shared: SharedOutputs | None = None
    limited: Callable[[], AbstractContextManager[None]] = nullcontext
    passed: int = 0
    level: int = 0
    held: pa.Table | None = None

    def further_run(self, number: int, rows: pa.Table) -> FragmentEpoch:
        """Another run of a part of the fragment in this epoch: nothing comes but `rows`, to the recursion `number`."""
        inputs = [table_of(each).slice(0, 0) for each in self.inputs]
        return replace(self, inputs=inputs, upstream={}, errors=0, recursive={number: rows}, shared=None)

    def hold(self, rows: pa.Table) -> None:
        """Keeps the changes of levels whose turn comes later."""
        self.held = rows

    def note_work(self, number: int, work: WorkFigures) -> None:
        """Adds what an operator has done: in the step of a recursion it runs several times."""
        before = self.work.get(number)
        self.work[number] = work if before is None else added(before, work)

    @property
    def starts(self) -> bool:
        """Whether this is the job's first epoch, on the shard that has the rows without a distribution key."""
        return self.shard == 0 and self.epoch_input.first_epoch_of(self.job_id)


def never(epoch: FragmentEpoch) -> bool:
    """Wakes an operator never: it has nothing to do without input."""
    return False


def always(epoch: FragmentEpoch) -> bool:
    """Wakes an operator in every epoch: it reads something besides its inputs."""
    return True


def at_start(epoch: FragmentEpoch) -> bool:
    """Wakes an operator in its first epoch: it has output then even without input."""
    return epoch.starts


@dataclass(frozen=True, slots=True)
class CompiledOperator:
    """`make` gives the epoch's executor. If no input has a row, the executor is made only if `wakes` returns True.

    `number` is the plan node's number in the fragment, depth first and left to right. `fused` is that of the Filter
    below it that its executor evaluates, too; the executor's `passed` counts the rows that satisfied that Filter.
    `wakes_by_rows`: only rows that come to the fragment, or a snapshot that its job still reads, make `wakes` True.
    `output_key` is that of its output, if others may have the same. `few` does the same with a few rows, without
    `make`'s executor; None if it always needs columns.
    """

    make: Callable[[FragmentEpoch], Executor]
    empty: pa.Table
    inputs: tuple[CompiledOperator, ...] = ()
    wakes: Callable[[FragmentEpoch], bool] = never
    number: int = 0
    fused: int | None = None
    wakes_by_rows: bool = False
    output_key: OutputKey | None = None
    few: FewExecutor | None = None


@dataclass(frozen=True, slots=True)
class FragmentTree:
    """A fragment's operators. `empty_inputs`: for each exchange, a chunk without rows.

    `waits_for_rows`: the fragment has nothing to do when no rows come to it and its job reads no snapshot.
    `is_few`: each operator has an executor of few rows.
    """

    root: CompiledOperator
    wakers: tuple[Callable[[FragmentEpoch], bool], ...]
    empty_inputs: tuple[pa.Table, ...]
    waits_for_rows: bool
    is_few: bool

    @classmethod
    def of(cls, root: CompiledOperator, empty_inputs: Sequence[pa.Table]) -> FragmentTree:
        return cls(root, _wakers_of(root), tuple(empty_inputs), _only_rows_wake(root), _is_few(root))

    def run(self, epoch: FragmentEpoch) -> Chunk:
        """Returns the change of the root's output, and leaves what is to be reported in `epoch`."""
        for wakes in self.wakers:
            if wakes(epoch):
                return run_operator(self.root, epoch)
        return self.root.empty


def _only_rows_wake(operator: CompiledOperator) -> bool:
    """Whether a tree has nothing to do unless rows come to its fragment or its job reads a snapshot."""
    own = operator.wakes is never or operator.wakes_by_rows
    return own and all(_only_rows_wake(child) for child in operator.inputs)


def _is_few(operator: CompiledOperator) -> bool:
    return operator.few is not None and all(map(_is_few, operator.inputs))


def _wakers_of(operator: CompiledOperator) -> tuple[Callable[[FragmentEpoch], bool], ...]:
    """The `wakes` functions of a tree. If none returns True, the fragment has nothing to do in the epoch.

    Every leaf has one, so rows that come in wake the tree, too.
    """
    own = () if operator.wakes is never else (operator.wakes,)
    return own + tuple(wakes for child in operator.inputs for wakes in _wakers_of(child))


def run_operator(operator: CompiledOperator, epoch: FragmentEpoch) -> Chunk:
    """Runs an operator's inputs, then the operator; returns its output's change.

    What another fragment has just computed, and is still kept, is taken over.
    """
    key, shared = operator.output_key, epoch.shared
    if key is None or shared is None or key not in shared.wanted:
        return _run(operator, epoch)
    known = shared.take(key)
    if known is not None:
        epoch.errors += known.errors
        for distance, done in known.work.items():
            epoch.note_work(operator.number + distance, done)
        return known.rows
    errors = epoch.errors
    rows = _run(operator, epoch)
    # Operators below have the next numbers; those beside it, with larger ones, have not run yet.
    work = {
        number - operator.number: (rows_in, rows_out, 0, 0, 0)
        for number, (rows_in, rows_out, *_) in epoch.work.items()
        if number >= operator.number
    }
    shared.keep(key, SharedOutput(rows, epoch.errors - errors, work))
    return rows


def _run(operator: CompiledOperator, epoch: FragmentEpoch) -> Chunk:
    inputs = [run_operator(child, epoch) for child in operator.inputs]
    rows_in = sum([chunk.num_rows for chunk in inputs])
    if not rows_in and not operator.wakes(epoch):
        return operator.empty
    lookups = epoch.transaction.lookups
    asked, found = lookups.asked, lookups.found
    began = perf_counter_ns()
    output = _run_few(operator, epoch, inputs)
    if output is None:
        output = _run_columns(operator, epoch, inputs)
    rows_out = output.num_rows
    if rows_in or rows_out:
        if operator.fused is not None:
            epoch.note_work(operator.fused, (rows_in, epoch.passed, 0, 0, 0))
            rows_in = epoch.passed
        took = perf_counter_ns() - began
        epoch.note_work(operator.number, (rows_in, rows_out, took, lookups.asked - asked, lookups.found - found))
    return output


def _run_few(operator: CompiledOperator, epoch: FragmentEpoch, inputs: Sequence[Chunk]) -> Chunk | None:
    """The output by the operator's executor of few rows; None if these must be had in columns."""
    if operator.few is None:
        return None
    for chunk in inputs:
        if not isinstance(chunk, FewRows):
            return None
    try:
        return operator.few(epoch, cast("Sequence[FewRows]", inputs))
    except NotFew:
        return None


def _run_columns(operator: CompiledOperator, epoch: FragmentEpoch, inputs: Sequence[Chunk]) -> Chunk:
    with epoch.limited():
        executor = operator.make(epoch)
        output = executor.execute([table_of(chunk) for chunk in inputs])
    epoch.errors += getattr(executor, "errors", 0)
    epoch.passed = getattr(executor, "passed", output.num_rows)
    return output
