"""What a task on another machine must know of an epoch. It comes through Spark, never from the server's disk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from risingpy.executors.cluster.platform import Platform
from risingpy.executors.epoch.descriptor import EpochDescriptor
from risingpy.executors.epoch.handed_over import HandedOver

Attempts = Mapping[int, str]  # by stage, the name of the delta; a stage that has changed nothing is not here


@dataclass(frozen=True, slots=True)
class LastCommit:
    """The attempts that the last committed epoch is made of, by shard, and the epoch before it."""

    epoch: int
    before: int
    attempts: Mapping[int, Attempts]


@dataclass(frozen=True, slots=True)
class EpochOrder:
    """`run` tells one start of a server from another. `last` is None if only the journal knows.

    `handed_over`: by job and shard, what the epoch takes over. `key`: that of secrets, as `carried_key` seals it; None
    if the epoch reads no source, or the server has no key.
    """

    run: str
    state_uri: str
    cluster: str
    platform: Platform
    descriptor: EpochDescriptor
    last: LastCommit | None
    handed_over: Mapping[tuple[int, int], HandedOver]
    key: bytes | None = None

    def winners(self, shard: int) -> tuple[int, Attempts] | None:
        """The epoch before the committed one, and the attempts that lead from it to the committed one."""
        if self.last is None or self.last.epoch != self.descriptor.committed:
            return None
        return self.last.before, self.last.attempts.get(shard, {})
