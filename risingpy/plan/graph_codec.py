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

# Of the last graph. A job is known by its identity when it is written: comparing or hashing it would cost as much.
_written: dict[int, tuple[Job, bytes]] = {}  # by id(); the job is held, so that no other gets its identity
_read: dict[bytes, Job] = {}


def encode_graph(graph: StreamGraph) -> bytes:
    """The bytes of a graph."""
    global _written
    known = _written
    _written = jobs = {id(job): known.get(id(job)) or (job, encode(job)) for job in graph.jobs}
    parts = [*(jobs[id(job)][1] for job in graph.jobs), encode(replace(graph, jobs=()))]
    return b"".join((struct.pack(f">{1 + len(parts)}I", len(graph.jobs), *map(len, parts)), *parts))


def decode_graph(data: bytes) -> StreamGraph:
    """What `encode_graph` was given. Raises ValueError for bytes of another version or of unknown classes."""
    global _read
    (count,) = struct.unpack_from(">I", data)
    lengths = struct.unpack_from(f">{count + 1}I", data, 4)
    *parts, rest = (data[start:end] for start, end in pairwise(accumulate(lengths, initial=4 * (count + 2))))
    known = _read
    _read = jobs = {part: known[part] if part in known else cast(Job, decode(part)) for part in parts}
    return replace(cast(StreamGraph, decode(rest)), jobs=tuple(jobs[part] for part in parts))
