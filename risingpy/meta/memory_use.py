"""What memory the server takes: its own process, Spark's Java, the Python workers, and DuckDB within the first.

Read from /proc when somebody asks, some microseconds a process.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """Bytes. `server` is the process's own memory, `mapped` the pages of files that it has in memory (LMDB's, mostly).

    `workers` counts what forked ones still share in each. `duckdb` is a part of `server`: what running statements have.
    `spilled`: what they have on disk.
    """

    server: int
    mapped: int
    java: int
    workers: int
    duckdb: int
    spilled: int


def memory_use(duckdb: int, spilled: int) -> MemoryUse:
    """The memory of this process and of those that it has started, with what is known of DuckDB."""
    own = _status(os.getpid())
    children = {"java": 0, "workers": 0}
    for process_id in _descendants(os.getpid()):
        status = _status(process_id)
        kind = "java" if status.get("Name") == "java" else "workers"
        # Forked workers share pages until one writes to them, and each counts them: to find out would take the
        # kernel milliseconds for each process (smaps_rollup). The files' pages, shared by all, are left out.
        children[kind] += _bytes(status, "RssAnon")
    return MemoryUse(
        server=_bytes(own, "RssAnon"),
        mapped=_bytes(own, "RssFile") + _bytes(own, "RssShmem"),
        java=children["java"],
        workers=children["workers"],
        duckdb=duckdb,
        spilled=spilled,
    )


def _descendants(process_id: int) -> Iterator[int]:
    rest = [process_id]
    while rest:
        for task in (_PROC / str(rest.pop()) / "task").glob("*/children"):
            try:
                found = [int(word) for word in task.read_text().split()]
            except OSError:
                continue  # the thread has ended meanwhile
            yield from found
            rest += found


def _status(process_id: int) -> dict[str, str]:
    try:
        lines = (_PROC / str(process_id) / "status").read_text().splitlines()
    except OSError:
        return {}  # it has ended meanwhile
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def _bytes(status: dict[str, str], field: str) -> int:
    words = status.get(field, "0 kB").split()
    return int(words[0]) * 1024
