"""The server's memory, and how it is divided.

`--memory` sets it; by default it is all that the machine, the cgroup and the resource limits allow. The server's
processes read it from the environment variable RISINGPY_MEMORY, which Spark passes on. Besides the shares below,
Spark's Java takes a gigabyte, and the page cache of LMDB's maps uses what is free.
"""

from __future__ import annotations

import os
import re
import resource
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ENVIRONMENT_NAME = "RISINGPY_MEMORY"

STATEMENT_SHARE = 1 / 8  # one statement, unless `statement_memory` says otherwise
QUERIES_SHARE = 1 / 4  # all statements that run, together
WRITTEN_SHARE = 1 / 4  # the rows that a transaction writes: one epoch takes them all
COPIED_ROW_SHARE = 1 / 64  # one row of COPY FROM STDIN: until it is stored there are about ten copies of it
JOB_SHARE = 1 / 64  # what a job writes to a table on a shard in an epoch that all share: more takes a second
JOB_OPERATOR_SHARE = 1 / 32  # what an operator of a job collects in such an epoch
JOB_GROWTH_SHARE = 1 / 16  # what the process may grow meanwhile
EPOCH_SHARE = 1 / 8  # what an operator collects in an epoch on a shard

_UNITS = {"b": 1, "kb": 1 << 10, "mb": 1 << 20, "gb": 1 << 30, "tb": 1 << 40}
_TEXT = re.compile(r"(\d{1,15})\s*([a-z]*)", re.IGNORECASE)
_CGROUPS = Path("/sys/fs/cgroup")
_OWN_CGROUPS = Path("/proc/self/cgroup")


def server_memory() -> int:
    """The server's memory in bytes. Raises ValueError if the environment variable is no amount of memory."""
    told = _parsed(os.environ.get(ENVIRONMENT_NAME) or "0")
    return told or available_memory()


def share_of_memory(share: float) -> int:
    """A share of the server's memory, in bytes."""
    return int(server_memory() * share)


@cache
def available_memory() -> int:
    """The machine's memory, or less if a cgroup or a resource limit allows less."""
    limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"), *cgroup_limits(_CGROUPS, _OWN_CGROUPS)]
    for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA):
        soft, _ = resource.getrlimit(kind)
        limits += [] if soft == resource.RLIM_INFINITY else [soft]
    return min(limits)


def cgroup_limits(mount: Path, own: Path) -> Iterator[int]:
    """The limits of the process's cgroups and of their parents; the file `own` names the cgroups.

    In a container the file may have the host's paths, which do not exist there. Then the mount's root is the
    container's own cgroup.
    """
    for line in own.read_text().splitlines() if own.exists() else ():
        _, controllers, place = line.split(":", 2)
        if not controllers:  # version 2
            root, name = mount, "memory.max"
        elif "memory" in controllers.split(","):
            root, name = mount / "memory", "memory.limit_in_bytes"
        else:
            continue
        group = root / place.lstrip("/")
        for path in (each / name for each in (group, *group.parents) if each.is_relative_to(root)):
            text = path.read_text().strip() if path.exists() else ""
            if text.isdecimal():  # else "max"
                yield int(text)


def parse_bytes(text: str, *, unit: str = "b") -> int:
    """`512MB`, `4 GB`; a number alone counts `unit`s. Raises ValueError."""
    found = _TEXT.fullmatch(text.strip())
    factor = None if found is None else _UNITS.get((found[2] or unit).lower())
    if found is None or factor is None:
        raise ValueError(f"{text!r} is no amount of memory, such as 512MB or 4GB")
    return int(found[1]) * factor


_parsed = cache(parse_bytes)  # every fragment of every epoch asks


def show_bytes(amount: int) -> str:
    """The amount in the largest unit that divides it, as PostgreSQL shows its settings."""
    for name in ("TB", "GB", "MB", "kB"):
        size = _UNITS[name.lower()]
        if amount and amount % size == 0:
            return f"{amount // size}{name}"
    return f"{amount}B" if amount else "0"
