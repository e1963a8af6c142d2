"""Which executor runs a shard's tasks: the one that has the shard, as long as it lives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class SparkExecutor:
    """One of a host. The shards' caches are the host's, so that is all that Spark need be told."""

    host: str
    port: str


class Placement:
    """Remembers where each shard was. It moves a shard when its executor is gone, or has more than its part.

    In the second case there is time: the shard stays until `loaded` says that its new host has it.
    """

    def __init__(self) -> None:
        self._last: dict[int, SparkExecutor] = {}
        self._loaded: set[tuple[int, str]] = set()
        self._to_load: dict[int, str] = {}

    def place(self, executors: Sequence[SparkExecutor], shards: int) -> list[SparkExecutor | None]:
        """An executor for each shard; None if there is none at all: then Spark waits for one."""
        self._to_load = {}
        if not executors:
            return [None] * shards
        hosts = {each.host for each in executors}
        self._loaded = {(shard, host) for shard, host in self._loaded if host in hosts}
        placed = self._spread(executors, shards)
        for shard, best in placed.items():
            last = self._last.get(shard)
            if last is None or last not in executors or best.host == last.host:
                continue
            if (shard, best.host) in self._loaded:
                self._loaded.remove((shard, best.host))
            else:
                self._to_load[shard] = best.host
        placed.update((shard, self._last[shard]) for shard in self._to_load)
        self._last = placed
        return [placed[shard] for shard in range(shards)]

    def to_load(self) -> Mapping[int, str]:
        """The shards that were left where they are, because the hosts that should run them may not have them."""
        return self._to_load

    def loaded(self, shard: int, host: str) -> None:
        """The host has the shard, or lacks only what was committed within the last moments."""
        self._loaded.add((shard, host))

    def _spread(self, executors: Sequence[SparkExecutor], shards: int) -> dict[int, SparkExecutor]:
        """As many shards for each executor, with as few moves as that takes."""
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
        return placed
