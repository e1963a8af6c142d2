"""The loop's own thread: it tries failed epochs again, applies changes in order, and ends when it is told to."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from risingpy.connectors.secrets.vault import Vault
from risingpy.errors import CannotConnectNow, DuplicateRelation, EpochsCannotRun, SqlError
from risingpy.executors.epoch.descriptor import EpochDescriptor
from risingpy.meta.changelogs.trimming import Trimming
from risingpy.meta.durable_state import DurableState
from risingpy.meta.epochs.barrier_loop import BarrierLoop, EpochRetries
from risingpy.meta.epochs.committer import Committer
from risingpy.meta.epochs.graph_changes import GraphChanges
from risingpy.meta.epochs.published_state import PublishedState
from risingpy.meta.epochs.rejected_messages import RejectedMessages
from risingpy.meta.epochs.rescaling import Rescaling
from risingpy.meta.epochs.runner import EpochFailed, EpochReport
from risingpy.meta.epochs.scheduler import EpochScheduler
from risingpy.meta.epochs.shape import EpochShape
from risingpy.meta.epochs.source_offsets import SourceOffsets
from risingpy.meta.epochs.waiters import Waiters
from risingpy.meta.own_pace.jobs import OwnPaceJobs
from risingpy.meta.recovery.opening import open_directory
from risingpy.meta.schema.schemas import add_schema
from risingpy.meta.state import MetaState
from risingpy.meta.writing.dml_log import DmlLog, TableChange
from risingpy.plan.recursion.loops import Stages

FAST = EpochRetries(tries=5, first_pause=0.001)


class ScriptedRunner:
    """An engine that raises what stands in `failures`, one an epoch, and then finds nothing to do."""

    def __init__(self) -> None:
        self.shape = EpochShape()
        self.cores = None
        self.failures: list[Exception] = []
        self.ran: list[EpochDescriptor] = []
        self.is_warm = self.is_stopped = self.is_closed = False

    def start(self) -> None:
        self.is_warm = True

    def run(self, descriptor: EpochDescriptor, stages: Stages) -> EpochReport:
        self.ran.append(descriptor)
        if self.failures:
            raise self.failures.pop(0)
        return EpochReport()

    def stop(self) -> None:
        self.is_stopped = True

    def close(self) -> None:
        self.is_closed = True


class Parts:
    """What a loop works with, on a directory without tables."""

    def __init__(self, data_dir: Path) -> None:
        self.data_dir = data_dir
        self.vault = Vault(data_dir / "key")
        self._opened = open_directory(data_dir, 1, self.vault)
        self.states: DurableState = self._opened.states
        self.published = PublishedState(self._opened.state, self._opened.store)
        self.waiters = Waiters(self.published)
        self.changes = GraphChanges(self.waiters)
        self.log = DmlLog(data_dir / "log", 0, self.waiters.wake)
        rejected = RejectedMessages(self._opened.meta_store)
        self.committer = Committer(data_dir, self.states, self.published, self.waiters, self.log, rejected)
        self.runner = ScriptedRunner()
        self.loop: BarrierLoop | None = None

    def start(self, retries: EpochRetries = FAST) -> None:
        self.loop = BarrierLoop(
            data_dir=self.data_dir,
            published=self.published,
            waiters=self.waiters,
            changes=self.changes,
            scheduler=EpochScheduler(self.log, SourceOffsets(self.vault, lambda: None), Trimming(lambda: None)),
            committer=self.committer,
            runner=self.runner,
            own_pace=OwnPaceJobs(self.data_dir, self.published.state, self.waiters.wake),
            rescaling=Rescaling(self.published, self.committer, self._opened.store, None),
            retries=retries,
        )
        self.loop.start()

    def write(self) -> int:
        return self.log.append([TableChange(1, 1, pa.table({"op": pa.array([1], pa.int8())}))])

    def close(self) -> None:
        if self.loop is not None:
            self.loop.stop()
        self.published.close()
        self.log.close()
        self._opened.store.close()
        self._opened.meta_store.close()


@pytest.fixture
def parts(tmp_path: Path) -> Iterator[Parts]:
    parts = Parts(tmp_path / "data")
    yield parts
    parts.close()


def wait_for(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_an_epoch_that_failed_is_run_again_with_the_same_rows(parts: Parts) -> None:
    parts.runner.failures = [EpochFailed("lost"), OSError("disk"), MemoryError()]
    lsn = parts.write()
    parts.start()
    assert parts.waiters.until_lsn(lsn).committed.lsn == lsn
    first, *_, last = parts.runner.ran
    assert len(parts.runner.ran) == 4
    assert (last.log_after, last.log_up_to, last.committed) == (first.log_after, first.log_up_to, first.committed)
    assert last.epoch > first.epoch


def test_only_failures_in_a_row_are_counted(parts: Parts) -> None:
    parts.start(EpochRetries(tries=3, first_pause=0.001))
    for _ in range(3):
        parts.runner.failures = [EpochFailed("lost"), EpochFailed("lost")]
        parts.waiters.until_lsn(parts.write())
    assert parts.waiters.stalled is None


@pytest.mark.parametrize("failure", [EpochFailed("no worker left"), ZeroDivisionError("no worker left")])
def test_it_says_that_epochs_cannot_run_and_goes_on_trying(parts: Parts, failure: Exception) -> None:
    parts.runner.failures = [failure] * 1000
    lsn = parts.write()
    parts.start()
    with pytest.raises(EpochsCannotRun, match=r"epochs cannot run: .*no worker left"):
        parts.waiters.until_lsn(lsn)
    assert len(parts.runner.ran) >= FAST.tries
    assert parts.committer.times.failing == parts.waiters.stalled
    assert parts.changes.submit(lambda state: state).result(10) is parts.published.state
    parts.runner.failures = []
    wait_for(lambda: parts.published.state.committed.lsn == lsn)
    wait_for(lambda: parts.waiters.stalled is None)
    assert parts.committer.times.failing is None


def test_what_fails_before_an_epoch_is_tried_again_too(parts: Parts, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also with a change waiting, the tries have pauses between them."""
    tries: list[float] = []

    def broken() -> None:
        tries.append(time.monotonic())
        raise RuntimeError("no memory for a read view")

    with monkeypatch.context() as patched:
        patched.setattr(parts.committer, "publish", broken)
        change = parts.changes.submit(lambda state: state)
        parts.start(EpochRetries(tries=5, first_pause=0.02))
        wait_for(lambda: parts.waiters.stalled)
        assert tries[4] - tries[0] >= 4 * 0.02
    assert change.result(10) is parts.published.state


def test_a_change_of_the_schema_ends_a_pause(parts: Parts) -> None:
    parts.runner.failures = [EpochFailed("lost")] * 2
    lsn = parts.write()
    parts.start(EpochRetries(first_pause=0.01, longest_pause=60.0))
    parts.runner.failures = [EpochFailed("lost")] * 14
    wait_for(lambda: len(parts.runner.failures) <= 5)  # the pause after ten failures is five seconds
    began = time.monotonic()
    while parts.published.state.committed.lsn < lsn:
        parts.changes.submit(lambda state: state).result(10)
    assert time.monotonic() - began < 4


def test_a_pause_ends_when_the_database_stops(parts: Parts) -> None:
    parts.runner.failures = [EpochFailed("lost")]
    parts.write()
    parts.start(EpochRetries(first_pause=60.0, longest_pause=60.0))
    wait_for(lambda: parts.runner.ran)
    began = time.monotonic()
    assert parts.loop is not None
    parts.loop.stop()
    assert time.monotonic() - began < 5
    assert parts.runner.is_stopped and parts.runner.is_closed


def test_pauses_double_up_to_the_longest() -> None:
    retries = EpochRetries(first_pause=0.5, longest_pause=3.0)
    assert [retries.pause_after(n) for n in (1, 2, 3, 4, 5000)] == [0.5, 1.0, 2.0, 3.0, 3.0]


def test_changes_are_applied_in_order_and_one_that_fails_harms_no_other(parts: Parts) -> None:
    def renamed(name: str) -> Callable[[MetaState], MetaState]:
        return lambda state: add_schema(state, name)

    def refused(error: Exception) -> Callable[[MetaState], MetaState]:
        def change(_: MetaState) -> MetaState:
            raise error

        return change

    futures = [
        parts.changes.submit(change)
        for change in (renamed("a"), refused(DuplicateRelation("twice")), refused(RecursionError()), renamed("b"))
    ]
    parts.start()
    assert futures[3].result(10).catalog.schemas[-2:] == ("a", "b")
    assert futures[0].result(0).catalog.schemas[-1] == "a"
    assert isinstance(futures[1].exception(0), DuplicateRelation)
    too_deep = futures[2].exception(0)
    assert isinstance(too_deep, SqlError) and too_deep.sqlstate == "54001"
    assert parts.states.load(1).catalog.schemas[-2:] == ("a", "b")
    assert not parts.runner.ran  # a change of the catalog alone needs no epoch


def test_a_change_that_came_while_it_stopped_is_refused(parts: Parts) -> None:
    parts.start()
    reached, going_on = threading.Event(), threading.Event()

    def slow(state: MetaState) -> MetaState:
        reached.set()
        assert going_on.wait(10)
        return state

    first = parts.changes.submit(slow)
    assert reached.wait(10)
    stopping = threading.Thread(target=parts.waiters.stop)
    stopping.start()
    stopping.join(10)
    with pytest.raises(CannotConnectNow):
        parts.changes.submit(lambda state: state)
    going_on.set()
    assert first.result(10) is parts.published.state


def test_what_is_committed_is_durable_before_it_is_seen(parts: Parts) -> None:
    parts.start()
    lsn = parts.write()
    seen = parts.waiters.until_lsn(lsn)
    assert parts.states.load(1).committed == seen.committed
    assert seen.committed.epoch == parts.runner.ran[-1].epoch
