"""Whose tasks Spark runs: a server, from its start to its end."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ServerRun:
    """`sockets` is a directory that each start of a server makes anew: so it tells one start from another.

    What a task keeps open of a data directory is good for one of them only: the next may find other shards there, or
    another graph under the same version.
    """

    data_dir: str
    sockets: str
