"""What a server has of the machine: memory, threads, descriptors, readers of its stores, bytes on the disk."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import lmdb

from tests.abuse.campaign import memory_of_tree


@dataclass(frozen=True, slots=True)
class Resources:
    memory: int  # bytes of the server's own process
    processes: int
    threads: int
    descriptors: int
    readers: int  # of its LMDB environments: each keeps old pages from being used again
    disk: int  # bytes

    def grown(self, later: Resources) -> dict[str, tuple[int, int]]:
        """Of what there is more later than may be: (then, later)."""
        slack = {"memory": 96 << 20, "processes": 4, "threads": 8, "descriptors": 12, "readers": 3, "disk": 64 << 20}
        pairs = {name: (getattr(self, name), getattr(later, name)) for name in slack}
        return {name: (then, now) for name, (then, now) in pairs.items() if now > then + slack[name]}


def resources_of(pid: int, data_dir: Path) -> Resources:
    """What the server with that process has now."""
    tree, process = memory_of_tree(pid), Path(f"/proc/{pid}")
    return Resources(
        memory=next(iter(tree.values())),
        processes=len(tree),
        threads=len(list((process / "task").iterdir())),
        descriptors=len(list((process / "fd").iterdir())),
        readers=sum(map(_readers, data_dir.rglob("lock.mdb"))),
        disk=sum(path.stat().st_blocks * 512 for path in data_dir.rglob("*") if path.is_file()),
    )


def _readers(lock: Path) -> int:
    with lmdb.open(str(lock.parent), readonly=True, create=False, max_dbs=0) as environment:
        lines = environment.readers().strip().splitlines()
    return sum(line.strip()[:1].isdigit() for line in lines)
