"""Runs a step of an epoch on every shard: one shard after the other, or in parallel, in a thread for each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from queue import SimpleQueue
from threading import Thread
from typing import Protocol, TypeVar

T = TypeVar("T")


class OnShards(Protocol):
    """Calls a function with each shard's number; returns the results in the order of the shards.

    All calls for a shard are made in the same thread: LMDB does not let a write transaction change threads.
    """

    def __call__(self, step: Callable[[int], T], shards: Sequence[int]) -> list[T]: ...


def one_by_one(step: Callable[[int], T], shards: Sequence[int]) -> list[T]:
    """Calls `step` for one shard after the other, in this thread."""
    return [step(shard) for shard in shards]


class ShardThreads:
    """Keeps a thread for each shard, from its first use on; the first shard runs in the caller's thread.

    They are no ThreadPoolExecutor's: those take no work any more when the interpreter begins to end, and an embedded
    database still ends its running epoch then.
    """

    def __init__(self) -> None:
        self._threads: dict[int, _ShardThread] = {}

    def __call__(self, step: Callable[[int], T], shards: Sequence[int]) -> list[T]:
        """Returns when all shards have ended. Raises the error of the first shard, in their order, that has one."""
        others = [self._start(step, shard) for shard in shards[1:]]
        first: Future[T] = Future()
        _run(step, shards[0], first)
        steps = [first, *others]
        for other in others:
            other.exception()  # waits
        return [done.result() for done in steps]

    def close(self) -> None:
        for thread in self._threads.values():
            thread.close()
        self._threads.clear()

    def _start(self, step: Callable[[int], T], shard: int) -> Future[T]:
        if shard not in self._threads:
            self._threads[shard] = _ShardThread(shard)
        done: Future[T] = Future()
        self._threads[shard].run(lambda: _run(step, shard, done))
        return done


class _ShardThread:
    """Runs one step after the other, until it is closed."""

    def __init__(self, shard: int) -> None:
        self._steps: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._thread = Thread(target=self._work, name=f"shard-{shard}", daemon=True)
        self._thread.start()

    def run(self, step: Callable[[], None]) -> None:
        self._steps.put(step)

    def close(self) -> None:
        self._steps.put(None)
        self._thread.join()

    def _work(self) -> None:
        while (step := self._steps.get()) is not None:
            step()


def _run(step: Callable[[int], T], shard: int, done: Future[T]) -> None:
    try:
        done.set_result(step(shard))
    except BaseException as error:
        done.set_exception(error)
