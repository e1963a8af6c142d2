"""Runs a step of an epoch on every shard: one shard after the other, or in parallel, in a thread for each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
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
    """Keeps a thread for each shard, from its first use on; the first shard runs in the caller's thread."""

    def __init__(self) -> None:
        self._threads: dict[int, ThreadPoolExecutor] = {}

    def __call__(self, step: Callable[[int], T], shards: Sequence[int]) -> list[T]:
        """Returns when all shards have ended. Raises the error of the first shard, in their order, that has one."""
        others = [self._start(step, shard) for shard in shards[1:]]
        first: Future[T] = Future()
        try:
            first.set_result(step(shards[0]))
        except BaseException as error:
            first.set_exception(error)
        steps = [first, *others]
        for other in others:
            other.exception()  # waits
        return [done.result() for done in steps]

    def close(self) -> None:
        for thread in self._threads.values():
            thread.shutdown()
        self._threads.clear()

    def _start(self, step: Callable[[int], T], shard: int) -> Future[T]:
        if shard not in self._threads:
            self._threads[shard] = ThreadPoolExecutor(1, thread_name_prefix=f"shard-{shard}")
        return self._threads[shard].submit(step, shard)
