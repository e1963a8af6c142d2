"""Changelog: keeps each epoch's delta as blocks of Arrow, for readers outside the graph.

A block is an Arrow IPC stream of a change chunk (`op`, `c0`, …). It has its own schema, so blocks of before an ALTER
stay readable. They are rows of a table of the shard: its transaction, its undo record and its backup have them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from risingpy.executors.change_chunk import INSERT
from risingpy.storage.engine.state_table import StateTable

BLOCK_ROWS = 65_536
BLOCK_BYTES = 8 << 20  # about: a row that is larger has a block of its own
_PARTS_PER_SHARD = 1 << 32  # a part's number says whose it is: the shards of another parallelism may meet in one store


class ChangelogExecutor:
    """Stores its input's delta under the epoch, and passes it on."""

    def __init__(self, *, table: StateTable, epoch: int, shard: int) -> None:
        self._table = table
        self._epoch = epoch
        self._first_part = shard * _PARTS_PER_SHARD

    def execute(self, inputs: Sequence[pa.Table]) -> pa.Table:
        (delta,) = inputs
        blocks = list(blocks_of(delta))
        if blocks:
            rows = len(blocks)
            parts = np.arange(self._first_part, self._first_part + rows, dtype=np.int64)
            columns = [pa.repeat(pa.scalar(self._epoch, pa.int64()), rows), pa.array(parts), pa.array(blocks)]
            self._table.apply_changes(np.full(rows, INSERT, np.int8), columns)
        return delta


def blocks_of(delta: pa.Table) -> Iterator[bytes]:
    """The blocks of a change chunk; none of no rows."""
    pieces = max(1, -(-delta.nbytes // BLOCK_BYTES))
    step = min(BLOCK_ROWS, max(1, -(-delta.num_rows // pieces)))
    for start in range(0, delta.num_rows, step):
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, delta.schema) as writer:
            writer.write_table(delta.slice(start, step).combine_chunks())
        yield sink.getvalue().to_pybytes()


def changes_in(block: pa.Buffer) -> pa.Table:
    """The change chunk of a block."""
    with pa.ipc.open_stream(block) as reader:
        return reader.read_all()
