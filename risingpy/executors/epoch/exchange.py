"""Sends a delta to the shards of a later stage: splits it by distribution, and writes it as Arrow IPC payloads.

The address of a payload is (shard, port). A port has 64 bits: `port = fragment_id · 2¹⁶ + k`. If k is below 2¹⁵, it is
the number of an exchange input of the fragment. Otherwise k − 2¹⁵ is the number of one of its upstream tables, whose
changes an earlier stage has made on the same shard. No plan has so many inputs (`optimizer/plan_size.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from risingpy.storage.codec.key_encoding import compute_vnodes
from risingpy.storage.codec.table_schema import shards_of_vnodes
from risingpy.types import SqlType

PORTS_PER_FRAGMENT = 1 << 16
FIRST_TABLE_PORT = 1 << 15
MAX_PAYLOAD_BYTES = 8 << 20  # half of what a Spark row of ours may hold: the sizes of slices are estimates


def input_port(fragment_id: int, index: int) -> int:
    """The port of a fragment's exchange input."""
    return fragment_id * PORTS_PER_FRAGMENT + index


def table_port(fragment_id: int, index: int) -> int:
    """The port for the changes of a fragment's upstream table."""
    return fragment_id * PORTS_PER_FRAGMENT + FIRST_TABLE_PORT + index


def split_by_shard(
    delta: pa.Table, columns: tuple[int, ...], shards: int, types: Sequence[SqlType] = ()
) -> Iterator[tuple[int, pa.Table]]:
    """(shard, its rows) of a delta, by the vnode of the columns at these positions, without shards that get no rows.

    Without columns, all rows go to the shard of vnode 0. `types` are those of the columns, needed if one has jsonb.
    """
    if not delta.num_rows:
        return
    if shards == 1 or not columns:
        yield 0, delta
        return
    arrays = [delta.column(f"c{index}").combine_chunks() for index in columns]
    owners = shards_of_vnodes(compute_vnodes(arrays, delta.num_rows, types), shards)
    if delta.num_rows == 1:
        yield int(owners[0]), delta
        return
    order = np.argsort(owners, kind="stable")
    bounds = np.searchsorted(owners[order], np.arange(shards + 1))
    for shard in range(shards):
        first, last = bounds[shard], bounds[shard + 1]
        if first == last:
            continue
        rows = order[first:last]
        yield shard, delta if len(rows) == delta.num_rows else delta.take(pa.array(rows))


def to_payloads(delta: pa.Table) -> Iterator[bytes]:
    """The delta as one or more Arrow IPC streams, none above MAX_PAYLOAD_BYTES unless a single row is."""
    pieces = max(1, -(-delta.nbytes // MAX_PAYLOAD_BYTES))
    step = max(1, -(-delta.num_rows // pieces))
    for start in range(0, delta.num_rows, step):
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, delta.schema) as writer:
            writer.write_table(delta.slice(start, step).combine_chunks())
        yield sink.getvalue().to_pybytes()


def from_payload(payload: bytes | pa.Buffer) -> pa.Table:
    """The rows of a payload, without copying them."""
    with pa.ipc.open_stream(payload) as reader:
        return reader.read_all()
