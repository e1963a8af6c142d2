"""A thread that waits for a later state gets it, or an error that none will come."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from risingpy.errors import CannotConnectNow, EpochsCannotRun, QueryCanceled, SqlError
from risingpy.functions.evaluation.stored_casts import cast_stored
from risingpy.meta.epochs.graph_changes import GraphChanges
from risingpy.meta.epochs.published_state import PublishedState
from risingpy.meta.epochs.waiters import Waiters
from risingpy.meta.state import CommittedEpoch, MetaState
from risingpy.plan.graph import Job
from risingpy.storage.codec.table_schema import TableSchema, ValueFormat
from risingpy.storage.engine.read_views import StateStore

BEFORE = MetaState()
AFTER = replace(BEFORE, committed=CommittedEpoch(lsn=9, offsets={1: {2: {"a": 4}}}))


@pytest.fixture
def published(tmp_path: Path) -> Iterator[PublishedState]:
    store = StateStore(tmp_path, 1, cast=cast_stored)
    store.recover(0)
    published = PublishedState(BEFORE, store)
    yield published
    published.close()
    store.close()


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4) as pool:
        yield pool


def test_a_waiter_is_woken_by_the_state_that_it_waits_for(published: PublishedState, pool: ThreadPoolExecutor) -> None:
    waiters = Waiters(published)
    logged = pool.submit(waiters.until_lsn, 9)
    read = pool.submit(waiters.until_read, 9, {1: {2: {"a": 4}}})
    published.replace(replace(AFTER, committed=replace(AFTER.committed, lsn=8)))
    assert not logged.done()
    published.replace(AFTER)
    assert logged.result(5) is AFTER
    assert read.result(5) is AFTER


def test_nobody_waits_for_a_source_that_no_longer_answers(published: PublishedState, pool: ThreadPoolExecutor) -> None:
    waiters, answering = Waiters(published), [True]
    job = Job(1, "v", (), TableSchema(1, "v", (), (), (), (), ValueFormat.PLAIN), ())
    published.replace(replace(AFTER, jobs={1: job}))
    read = pool.submit(waiters.until_read, 9, {1: {2: {"a": 5}}}, None, lambda source_id, split: answering[0])
    time.sleep(0.1)
    assert not read.done()
    answering[0] = False
    assert read.result(5).committed is AFTER.committed


def test_a_state_that_is_not_settled_is_read_one_epoch_later(
    published: PublishedState, pool: ThreadPoolExecutor
) -> None:
    waiters = Waiters(published)
    unsettled = replace(AFTER, committed=replace(AFTER.committed, settled=False))
    published.replace(unsettled)
    read = pool.submit(waiters.until_read, 9, {})
    published.replace(replace(unsettled, committed=replace(unsettled.committed, epoch=1)))
    assert read.result(5).committed.epoch == 1


def test_a_cancelled_waiter_ends(published: PublishedState) -> None:
    cancelled = threading.Event()
    cancelled.set()
    with pytest.raises(QueryCanceled):
        Waiters(published).until_lsn(9, cancelled)


def test_who_waits_is_told_that_no_state_will_come(published: PublishedState, pool: ThreadPoolExecutor) -> None:
    waiters = Waiters(published)
    changes = GraphChanges(waiters)
    waiting = pool.submit(waiters.until_lsn, 9)
    change = changes.submit(lambda state: state)
    waiters.stop()
    changes.refuse("the database system is shutting down")
    for future in (waiting, change):
        with pytest.raises(CannotConnectNow):
            future.result(5)
    with pytest.raises(CannotConnectNow):
        changes.submit(lambda state: state)


def test_nobody_waits_for_epochs_that_cannot_run(published: PublishedState, pool: ThreadPoolExecutor) -> None:
    waiters = Waiters(published)
    waiting = pool.submit(waiters.until_lsn, 9)
    change = GraphChanges(waiters).submit(lambda state: state)
    waiters.stall("the disk is full")
    with pytest.raises(EpochsCannotRun, match="epochs cannot run: the disk is full"):
        waiting.result(5)
    assert waiters.until_lsn(0) is BEFORE  # which is committed
    assert not change.done()  # it is applied between two tries, and may be what helps
    waiters.stall(None)
    waiting = pool.submit(waiters.until_lsn, 9)
    published.replace(AFTER)
    assert waiting.result(5) is AFTER


def test_who_waits_for_a_job_is_told_why_it_failed(published: PublishedState) -> None:
    waiters = Waiters(published)
    waiters.until_created(5)
    waiters.failed({5: SqlError("too much")})
    with pytest.raises(SqlError, match="too much"):
        waiters.until_created(5)


def test_a_change_that_waits_can_be_withdrawn_and_a_taken_one_cannot(published: PublishedState) -> None:
    changes = GraphChanges(Waiters(published))
    cancelled = threading.Event()
    cancelled.set()
    with pytest.raises(QueryCanceled):
        changes.apply(lambda state: state, cancelled)
    assert not changes
    first, second = changes.submit(lambda state: state), changes.submit(lambda state: AFTER)
    taken = [changes.take(), changes.take()]
    assert [each.future for each in taken if each is not None] == [first, second]
    assert changes.take() is None
