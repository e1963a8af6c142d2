"""Identifies one run of a server, from its start to its end, for the tasks that Spark runs for it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ServerRun:
    """Each start of a server makes a new directory `sockets`, which so tells one run from another.

    What a task keeps open of a data directory is valid for one run only: the next one may have other shards there, or
    another graph with the same version.
    """

    data_dir: str
    sockets: str
