"""When an epoch is due and what goes in: by the log, the sources, the state and a clock of the test's."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from risingpy.connectors.secrets.vault import Vault
from risingpy.executors.epoch.descriptor import LEAST_JOB_SECONDS
from risingpy.executors.epoch.time import COUNTER_BITS
from risingpy.meta.changelogs.trimming import Trimming
from risingpy.meta.epochs.next_epoch import JOB_SECONDS_PER_ROW
from risingpy.meta.epochs.scheduler import COMPACTION_PAUSE_SECONDS, EpochScheduler
from risingpy.meta.epochs.shape import EpochShape
from risingpy.meta.epochs.source_offsets import SourceOffsets
from risingpy.meta.state import CommittedEpoch, MetaState
from risingpy.meta.writing.dml_log import DmlLog, TableChange

TIME = 1_700_000_000_000
STATE = MetaState(committed=CommittedEpoch(epoch=TIME - 1000 << COUNTER_BITS))


@pytest.fixture
def log(tmp_path: Path) -> Iterator[DmlLog]:
    log = DmlLog(tmp_path / "log", 0, lambda: None)
    yield log
    log.close()


@pytest.fixture
def scheduler(log: DmlLog) -> EpochScheduler:
    return EpochScheduler(
        log, SourceOffsets(Vault(Path("none")), lambda: None), Trimming(lambda: None), now=lambda: TIME
    )


def write(log: DmlLog, rows: int) -> int:
    return log.append([TableChange(1, 1, pa.table({"op": pa.array([1] * rows, pa.int8())}))])


def test_an_idle_database_sleeps_until_it_is_woken(scheduler: EpochScheduler) -> None:
    scheduler.follow(STATE)
    assert not scheduler.is_due(STATE)
    assert not scheduler.is_to_look()
    assert scheduler.seconds_to_sleep(STATE, None) is None
    assert scheduler.seconds_to_sleep(STATE, 7.0) == 7.0
    assert scheduler.next_epoch(STATE, EpochShape()) is None


def test_logged_rows_are_due_and_go_in_whole(scheduler: EpochScheduler, log: DmlLog) -> None:
    write(log, 2)
    lsn = write(log, 3)
    assert scheduler.is_due(STATE)
    epoch = scheduler.next_epoch(STATE, EpochShape())
    assert epoch is not None
    assert (epoch.descriptor.log_after, epoch.descriptor.log_up_to, epoch.rows) == (0, lsn, 5)
    assert not scheduler.is_due(replace(STATE, committed=replace(STATE.committed, lsn=lsn)))


def test_what_the_state_asks_for_is_due(scheduler: EpochScheduler) -> None:
    for state in (
        replace(STATE, purge=frozenset({5})),
        replace(STATE, fresh_jobs=frozenset({5})),
        replace(STATE, committed=replace(STATE.committed, settled=False)),
    ):
        assert scheduler.is_due(state)


def test_a_compaction_is_for_when_nothing_else_happens(scheduler: EpochScheduler) -> None:
    state = replace(STATE, compactions={5: 1})
    assert not scheduler.is_due(state)
    assert scheduler.next_epoch(state, EpochShape()) is None
    assert scheduler.seconds_to_sleep(state, None) == COMPACTION_PAUSE_SECONDS
    assert scheduler.slept_through(state)
    epoch = scheduler.next_epoch(state, EpochShape())
    assert epoch is not None
    assert epoch.descriptor.compact == ((5, 1),)
    scheduler.done()
    assert scheduler.next_epoch(state, EpochShape()) is None


def test_an_epoch_that_is_tried_again_has_a_later_number(scheduler: EpochScheduler, log: DmlLog) -> None:
    write(log, 1)
    first, second = (scheduler.next_epoch(STATE, EpochShape()) for _ in range(2))
    assert first is not None
    assert second is not None
    assert first.descriptor.epoch < second.descriptor.epoch


def test_each_try_that_a_job_has_spoilt_leaves_jobs_less_time(scheduler: EpochScheduler, log: DmlLog) -> None:
    write(log, 1)
    epochs = [scheduler.next_epoch(STATE, EpochShape(), halvings=halvings) for halvings in (0, 1, 2, 20)]
    for_row = JOB_SECONDS_PER_ROW
    seconds = [round(epoch.descriptor.job_seconds - for_row, 9) for epoch in epochs if epoch is not None]
    assert seconds == [whole := seconds[0], whole / 2, whole / 4, LEAST_JOB_SECONDS]
    unlimited = scheduler.next_epoch(replace(STATE, job_epoch_seconds=0.0), EpochShape(), halvings=3)
    assert unlimited is not None
    assert unlimited.descriptor.job_seconds == 0
