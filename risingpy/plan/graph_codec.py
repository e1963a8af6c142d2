"""A stream graph as the bytes that tasks read: its jobs one after the other, each as `codec` writes it.

    number of jobs u32 | length u32 of each job and of the rest | job … | the rest: the graph without its jobs

A graph changes by a job or two at a time. The others are not made into JSON again, nor read from it: their bytes are
compared with those of the graph before. So a schema change costs about the same beside five jobs and beside five
hundred, and jobs that stay are the same objects, for which their tasks have compiled expressions already.
"""

from __future__ import annotations

import struct
from dataclasses import replace
from itertools import accumulate, pairwise
from typing import cast

from risingpy.plan.codec import decode, encode
from risingpy.plan.graph import Job, StreamGraph


class GraphWriter:
    """Writes one graph after the other. A job is known by its identity: comparing or hashing it would cost as much."""

    def __init__(self) -> None:
        self._written: dict[int, tuple[Job, bytes]] = {}  # by id(); the job is held, so that no other gets its identity

    def write(self, graph: StreamGraph) -> bytes:
        """The bytes of a graph. Jobs of the graph before are not encoded again."""
        known = self._written
        self._written = jobs = {id(job): known.get(id(job)) or (job, encode(job)) for job in graph.jobs}
        parts = [*(jobs[id(job)][1] for job in graph.jobs), encode(replace(graph, jobs=()))]
        return b"".join((struct.pack(f">{1 + len(parts)}I", len(graph.jobs), *map(len, parts)), *parts))

    def encoded(self, value: object) -> bytes:
        """As `encode`; of a job that the last graph had, what was written of it there."""
        known = self._written.get(id(value))
        return encode(value) if known is None else known[1]


class GraphReader:
    """Reads one graph after the other."""

    def __init__(self) -> None:
        self._read: dict[bytes, Job] = {}

    def read(self, data: bytes) -> StreamGraph:
        """What a `GraphWriter` was given; jobs of the graph before are the same objects.

        Raises ValueError for bytes of another version or of unknown classes.
        """
        (count,) = struct.unpack_from(">I", data)
        lengths = struct.unpack_from(f">{count + 1}I", data, 4)
        *parts, rest = (data[start:end] for start, end in pairwise(accumulate(lengths, initial=4 * (count + 2))))
        known = self._read
        self._read = jobs = {part: known[part] if part in known else cast(Job, decode(part)) for part in parts}
        return replace(cast(StreamGraph, decode(rest)), jobs=tuple(jobs[part] for part in parts))
