"""Reads of many ranges of stored rows at once: those of prefixes, and those between two keys.

Keys come out whole, and in the order of whole keys, as `key_scan` has it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, repeat

import numpy as np
import pyarrow as pa

from risingpy.storage.codec.column_buffers import Integers, longest
from risingpy.storage.codec.key_encoding import LONG_KEY_PREFIX, prefix_end
from risingpy.storage.codec.table_codec import whole_row
from risingpy.storage.engine.key_scan import (
    ALL_ROWS,
    LARGEST_STEP,
    Block,
    Page,
    in_block,
    iterate,
    joined,
    read_range,
)
from risingpy.storage.engine.native_lmdb import is_native, read_ranges
from risingpy.storage.engine.stored_rows import StoredRows

FEW_RANGES, FEW_ROWS = 16, 128


@dataclass(frozen=True, slots=True)
class Ranges:
    """From each start to its stop; without stops, over the keys that begin with it. Of each the first `limits`."""

    starts: pa.BinaryArray
    stops: pa.BinaryArray | None = None
    limits: Integers | None = None


def read_prefixes(rows: StoredRows, prefixes: pa.BinaryArray) -> tuple[Integers, Block]:
    """All rows of each prefix, in key order: which prefix each belongs to, and the rows. Best if sorted."""
    parts = list(_read_ranges(rows, Ranges(_stored_starts(prefixes)), LARGEST_STEP))
    numbers, block = _joined_parts(parts)
    if max(longest(prefixes), longest(block.keys)) >= LONG_KEY_PREFIX:
        return _in_true_order(prefixes, numbers, block)
    return numbers, block


def read_prefix_pages(rows: StoredRows, prefixes: pa.BinaryArray, page_rows: int) -> Iterator[tuple[Integers, Block]]:
    """As `read_prefixes`, some `page_rows` at a time; nothing may be written before the last page has been taken."""
    are_long = longest(prefixes) >= LONG_KEY_PREFIX
    for numbers, block in _read_ranges(rows, Ranges(_stored_starts(prefixes)), page_rows):
        if are_long or longest(block.keys) >= LONG_KEY_PREFIX:
            yield _in_true_order(prefixes, numbers, block)
        else:
            yield numbers, block


def read_leading(rows: StoredRows, prefixes: pa.BinaryArray, limits: Integers) -> tuple[Integers, Block]:
    """The first `limits[i]` rows of each prefix: which prefix each belongs to, and the rows. Best if sorted."""
    if longest(prefixes) < LONG_KEY_PREFIX:
        numbers, block = _joined_parts(list(_read_ranges(rows, Ranges(prefixes, limits=limits), LARGEST_STEP)))
        if longest(block.keys) < LONG_KEY_PREFIX:
            return numbers, block
    # Stored short, and among their like not in order.
    bounds = zip(prefixes.to_pylist(), limits.tolist(), strict=True)
    return _numbered([in_block(read_range(rows, prefix, prefix_end(prefix), limit)) for prefix, limit in bounds])


def read_between(rows: StoredRows, ranges: Sequence[tuple[bytes, bytes]], limit: int = ALL_ROWS) -> Block:
    """The first `limit` rows with start <= key < stop of each range (start, stop), in key order. Best if sorted."""
    starts, stops = (pa.array([each[side] for each in ranges], pa.binary()) for side in (0, 1))
    if max(longest(starts), longest(stops)) < LONG_KEY_PREFIX:
        limits = np.full(len(ranges), limit, np.int64)
        _, block = _joined_parts(list(_read_ranges(rows, Ranges(starts, stops, limits), LARGEST_STEP)))
        if longest(block.keys) < LONG_KEY_PREFIX:
            return block
    return joined([in_block(read_range(rows, start, stop, limit)) for start, stop in ranges])


def _read_ranges(rows: StoredRows, ranges: Ranges, page_rows: int) -> Iterator[tuple[Integers, Block]]:
    """Stored rows in stored order, at most `page_rows` at a time, with the range of each."""
    if not len(ranges.starts):
        return
    triples: Iterator[tuple[int, bytes, bytes]] = _by_cursor(rows, ranges)
    if is_native(rows.transaction) and not rows.has_runs(rows.table_of(ranges.starts)):
        # A call of the kernel takes as long as some ranges, and rows, with a cursor.
        few = list(islice(triples, FEW_ROWS)) if len(ranges.starts) < FEW_RANGES else None
        if few is None or len(few) == FEW_ROWS:
            found = read_ranges(rows.transaction, ranges.starts, ranges.stops, ranges.limits, page_rows)
            yield from ((numbers, Block(keys, values, more=True)) for numbers, keys, values in found)
            return
        triples = iter(few)
    while page := list(islice(triples, page_rows)):
        numbers, keys, values = zip(*page, strict=True)
        yield np.array(numbers, np.int64), in_block(Page(keys, values, more=True))


def _by_cursor(rows: StoredRows, ranges: Ranges) -> Iterator[tuple[int, bytes, bytes]]:
    starts = ranges.starts.to_pylist()
    stops = starts if ranges.stops is None else ranges.stops.to_pylist()
    limits = repeat(None, len(starts)) if ranges.limits is None else ranges.limits.tolist()
    with rows.cursor(starts[0]) as cursor:
        for number, (start, stop, limit) in enumerate(zip(starts, stops, limits, strict=True)):
            if limit != 0 and cursor.set_range(start):
                for key, value in islice(iterate(cursor), limit):
                    if not (key.startswith(start) if ranges.stops is None else key < stop):
                        break
                    yield number, key, value


def _stored_starts(prefixes: pa.BinaryArray) -> pa.BinaryArray:
    if longest(prefixes) <= LONG_KEY_PREFIX:
        return prefixes
    return pa.array([prefix[:LONG_KEY_PREFIX] for prefix in prefixes.to_pylist()], pa.binary())


def _joined_parts(parts: Sequence[tuple[Integers, Block]]) -> tuple[Integers, Block]:
    if not parts:
        return np.empty(0, np.int64), joined([])
    return np.concatenate([numbers for numbers, _ in parts]), joined([block for _, block in parts])


def _numbered(blocks: Sequence[Block]) -> tuple[Integers, Block]:
    """The rows of all blocks, each with the position of its block."""
    return np.repeat(np.arange(len(blocks)), [len(block.keys) for block in blocks]), joined(blocks)


def _in_true_order(prefixes: pa.BinaryArray, numbers: Integers, block: Block) -> tuple[Integers, Block]:
    """Stored rows whole and in the order of whole keys, without those that only share what is stored of a prefix."""
    wanted = prefixes.to_pylist()
    stored = zip(numbers.tolist(), block.keys.to_pylist(), block.values.to_pylist(), strict=True)
    rows = sorted((number, *whole_row(key, value)) for number, key, value in stored)
    rows = [row for row in rows if row[1].startswith(wanted[row[0]])]
    page = Page([row[1] for row in rows], [row[2] for row in rows], more=False)
    return np.array([row[0] for row in rows], np.int64), in_block(page)
