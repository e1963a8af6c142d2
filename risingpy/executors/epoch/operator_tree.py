"""A fragment as a tree of operators that outlives the epochs, and one epoch's run of it.

Making an operator compiles its expressions; making its executor only opens tables. So the tree is made once per
fragment and process, and executors once per epoch, and only where something is to be done.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter_ns
from typing import Protocol

import pyarrow as pa

from risingpy.executors.epoch.input import EpochInput
from risingpy.plan.operator_work import OperatorWork
from risingpy.storage.engine.shard_store import EpochTransaction


class Executor(Protocol):
    """One operator in one epoch, made from its parameters and its state tables as they were before the epoch."""

    def execute(self, inputs: Sequence[pa.Table]) -> pa.Table:
        """The change of the output, given the inputs' changes; leaves the state tables as they are after the epoch."""
        ...


@dataclass(slots=True)
class FragmentEpoch:
    """One epoch of one fragment on one shard: what its executors read, and what they report.

    `inputs` are the rows of the fragment's exchanges, `upstream` the changes of the tables that it scans (absent:
    none). `errors` counts expressions that failed. `backfill`: rows read from snapshots, and whether all scans are
    through; None if the fragment scans nothing. `work`: per operator that had rows, by its number. `reached`: by
    watermark, how far this epoch's rows have come.
    """

    transaction: EpochTransaction
    epoch_input: EpochInput
    shard: int
    shards: int
    job_id: int
    inputs: Sequence[pa.Table] = ()
    upstream: Mapping[int, pa.Table] = field(default_factory=dict)
    errors: int = 0
    backfill: tuple[int, bool] | None = None
    work: dict[int, OperatorWork] = field(default_factory=dict)
    reached: dict[int, int] = field(default_factory=dict)

    @property
    def starts(self) -> bool:
        """Whether this is the job's first epoch, on the shard where what belongs to no key is kept."""
        return self.shard == 0 and self.epoch_input.first_epoch_of(self.job_id)


def never(epoch: FragmentEpoch) -> bool:
    """For an operator that has nothing to do without input."""
    return False


def always(epoch: FragmentEpoch) -> bool:
    """For an operator that reads something besides its inputs."""
    return True


def at_start(epoch: FragmentEpoch) -> bool:
    """For an operator that says something in its first epoch even without input."""
    return epoch.starts


@dataclass(frozen=True, slots=True)
class Operator:
    """`make` gives the epoch's executor. Without a row in any input it is not made unless `wakes` says so.

    `number` is the plan node's place in the fragment, depth first and left to right; `fused` that of a Filter below
    which the executor evaluates on the way: its `passed` says how many rows came through. `wakes_by_rows`: what
    wakes it are rows that come to the fragment, or a snapshot that its job still reads, and nothing else.
    """

    make: Callable[[FragmentEpoch], Executor]
    empty: pa.Table
    inputs: tuple[Operator, ...] = ()
    wakes: Callable[[FragmentEpoch], bool] = never
    number: int = 0
    fused: int | None = None
    wakes_by_rows: bool = False


@dataclass(frozen=True, slots=True)
class FragmentTree:
    """A fragment's operators. `empty_inputs`: what each exchange gives when nothing has come.

    `waits_for_rows`: there is nothing to do when no rows come to the fragment, and its job reads no snapshot.
    """

    root: Operator
    wakers: tuple[Callable[[FragmentEpoch], bool], ...]
    empty_inputs: tuple[pa.Table, ...]
    waits_for_rows: bool

    @classmethod
    def of(cls, root: Operator, empty_inputs: Sequence[pa.Table]) -> FragmentTree:
        return cls(root, _wakers_of(root), tuple(empty_inputs), _only_rows_wake(root))

    def run(self, epoch: FragmentEpoch) -> pa.Table:
        """The change of the root's output; `epoch` has what there is to report then."""
        if not any(wakes(epoch) for wakes in self.wakers):
            return self.root.empty
        return _run_operator(self.root, epoch)


def _only_rows_wake(operator: Operator) -> bool:
    """Whether a tree has nothing to do unless rows come to its fragment, or its job reads a snapshot."""
    own = operator.wakes is never or operator.wakes_by_rows
    return own and all(_only_rows_wake(child) for child in operator.inputs)


def _wakers_of(operator: Operator) -> tuple[Callable[[FragmentEpoch], bool], ...]:
    """What can have a tree's operators run: a fragment for which none of them says so has nothing to do.

    Every leaf has one, so rows that come in are told of too.
    """
    own = () if operator.wakes is never else (operator.wakes,)
    return own + tuple(wakes for child in operator.inputs for wakes in _wakers_of(child))


def _run_operator(operator: Operator, epoch: FragmentEpoch) -> pa.Table:
    """Runs an operator after its inputs; returns its output's change."""
    inputs = [_run_operator(child, epoch) for child in operator.inputs]
    rows_in = sum(chunk.num_rows for chunk in inputs)
    if not rows_in and not operator.wakes(epoch):
        return operator.empty
    began = perf_counter_ns()
    executor = operator.make(epoch)
    output = executor.execute(inputs)
    epoch.errors += getattr(executor, "errors", 0)
    if rows_in or output.num_rows:
        if operator.fused is not None:
            passed = getattr(executor, "passed", output.num_rows)
            epoch.work[operator.fused] = OperatorWork(rows_in, passed)
            rows_in = passed
        epoch.work[operator.number] = OperatorWork(rows_in, output.num_rows, perf_counter_ns() - began)
    return output
