"""Which executor runs a shard's tasks: the one that has the shard, as long as it lives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class SparkExecutor:
    """One of a host. The shards' caches are the host's, so that is all that Spark need be told."""

    host: str
    port: str


class Placement:
    """Remembers where each shard was. It moves a shard when its executor is gone, or has more than its part."""

    def __init__(self) -> None:
        self._last: dict[int, SparkExecutor] = {}

    def place(self, executors: Sequence[SparkExecutor], shards: int) -> list[SparkExecutor | None]:
        """An executor for each shard; None if there is none at all: then Spark waits for one."""
        if not executors:
            return [None] * shards
        most = -(-shards // len(executors))
        load: Counter[SparkExecutor] = Counter()
        placed: dict[int, SparkExecutor] = {}
        for shard in range(shards):
            last = self._last.get(shard)
            if last is not None and last in executors and load[last] < most:
                placed[shard] = last
                load[last] += 1
        for shard in range(shards):
            if shard in placed:
                continue
            last = self._last.get(shard)
            # A new executor on the same machine finds the old one's caches.
            best = min(executors, key=lambda each: (load[each], last is None or each.host != last.host, each))
            placed[shard] = best
            load[best] += 1
        self._last = placed
        return [placed[shard] for shard in range(shards)]
