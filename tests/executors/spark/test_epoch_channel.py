"""The socket on which Spark's source and the task of small epochs wait, without Spark."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import pytest

from risingpy.executors.spark.epoch_channel import EpochChannel, EpochClient

AT_ONCE = 5.0  # far below POLL_SECONDS
T = TypeVar("T")


class Bench:
    """A channel at epoch 10, its reports, and clients that wait in threads of their own."""

    def __init__(self, path: Path) -> None:
        self.reports: list[tuple[int, bytes]] = []
        self.path = path
        self.channel = EpochChannel(path, 10, lambda epoch, report: self.reports.append((epoch, report)))
        self.threads = ThreadPoolExecutor()

    def client(self) -> EpochClient:
        return EpochClient(str(self.path))

    def waiting(self, ask: Callable[[int], T], seen: int) -> Future[T]:
        future = self.threads.submit(ask, seen)
        time.sleep(0.05)
        return future


@pytest.fixture
def bench() -> Iterator[Bench]:
    with tempfile.TemporaryDirectory() as directory:
        bench = Bench(Path(directory) / "socket")
        yield bench
        bench.channel.close()
        bench.threads.shutdown()


def test_whoever_waits_gets_the_epoch_that_is_opened(bench: Bench) -> None:
    source = bench.waiting(bench.client().newest, 10)
    task = bench.waiting(bench.client().next_epoch, 10)
    assert not source.done()
    assert not task.done()
    bench.channel.open_epoch(11, b"order")
    assert (source.result(AT_ONCE), task.result(AT_ONCE)) == (11, (11, b"order"))


def test_a_task_that_waits_is_known(bench: Bench) -> None:
    """So that nobody need ask Spark whether the query runs."""
    client = bench.client()
    for epoch in (11, 12):
        assert not bench.channel.task_waits
        task = bench.waiting(client.next_epoch, epoch - 1)
        assert bench.channel.task_waits
        bench.channel.open_epoch(epoch, b"order")
        assert task.result(AT_ONCE) == (epoch, b"order")
    task = bench.waiting(client.next_epoch, 12)
    bench.channel.forget_task()
    assert not bench.channel.task_waits
    assert task.result(AT_ONCE) == (12, b"")
    bench.waiting(bench.client().newest, 12)
    assert not bench.channel.task_waits  # the source is no task


def test_a_task_that_is_tried_again_gets_the_same_order(bench: Bench) -> None:
    bench.channel.open_epoch(11, b"order")
    assert bench.client().next_epoch(10) == (11, b"order")
    assert bench.client().next_epoch(10) == (11, b"order")


def test_an_epoch_that_was_reported_is_not_given_out_again(bench: Bench) -> None:
    """Neither to the source after the task, which only knows the first epoch of the task, nor to a task tried again."""
    task = bench.client()
    bench.channel.open_epoch(11)
    assert task.next_epoch(10) == (11, b"")
    assert task.next_epoch(10) == (11, b"")  # it is open still: an attempt that died has not reported it
    task.report(11, b"done")
    again = bench.waiting(bench.client().next_epoch, 10)
    source = bench.waiting(bench.client().newest, 10)
    assert not again.done()
    assert not source.done()
    bench.channel.open_epoch(12)
    assert (again.result(AT_ONCE), source.result(AT_ONCE)) == ((12, b""), 12)
    assert bench.reports == [(11, b"done")]


def test_a_dismissed_task_ends_and_the_source_goes_on_waiting(bench: Bench) -> None:
    source = bench.waiting(bench.client().newest, 10)
    client = bench.client()
    task = bench.waiting(client.next_epoch, 10)
    bench.channel.dismiss_task()
    assert task.result(AT_ONCE) == (10, b"")
    assert client.next_epoch(10) == (10, b"")  # a task that was busy when it was dismissed ends too
    assert not source.done()
    bench.channel.open_epoch(11)
    assert source.result(AT_ONCE) == 11
    assert client.next_epoch(10) == (11, b"")


def test_everybody_is_let_go_when_the_server_closes(bench: Bench) -> None:
    source = bench.waiting(bench.client().newest, 10)
    task = bench.waiting(bench.client().next_epoch, 10)
    bench.channel.close()
    assert (source.result(AT_ONCE), task.result(AT_ONCE)) == (10, (10, b""))
    assert bench.client().next_epoch(7) == (7, b"")


def test_a_report_without_a_server_is_an_error(bench: Bench) -> None:
    bench.channel.close()
    with pytest.raises((OSError, EOFError)):
        bench.client().report(11, b"done")
