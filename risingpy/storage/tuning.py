"""Every threshold of the store, with what was measured to choose it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StoreTuning:
    """Where the store changes its way of doing things. None of it changes a result, or a format.

    Only `synced` is about what survives: a cache that can be rebuilt from shared storage need not survive.

    Whoever opens a store may pass another one; tests do, for their tables are small. What one process has open in a
    directory keeps the tuning of whoever opened it first.
    """

    synced: bool = True  # commits wait for the disk; of an epoch of 500,000 rows, two thirds of the time

    # Reads. A page costs some 25 µs besides its rows, and room for its rows that may not come.
    first_page_rows: int = 64  # at least: a second page costs as much as some hundred rows
    rows_per_range: int = 4  # in the first page: most prefixes have a few rows
    page_growth: int = 8
    page_rows: int = 65_536  # 5 MB of addresses, and the rows' copies: more is no faster
    merged_rows: int = 32  # of the tree are read at least where runs lie over it: a merge costs 50 µs besides its rows
    sort_lookups_from: int = 32  # keys: fewer are looked up as they come, for sorting them costs more than it saves

    # Writes of a table before they go to the store: Arrow's binary arrays end at 2 GiB.
    mem_table_bytes: int = 512 << 20

    # Sorted runs (decision 024).
    run_batch_rows: int = 4096  # fewer rows of a batch are written to the tree as fast as they are read again
    run_table_times: int = 4  # so many times as large as the batch the table must be
    run_slices: int = 4  # in which the batch's keys lie: a table in one vnode would be merged all at once
    run_samples: int = 32  # neighbours in a batch that are looked at
    run_gap_rows: int = 4  # of the tree between two neighbours that are far from each other
    waiting_part: float = 4  # of its rows a table has at most one in so many in runs
    runs_per_slice: int = 16  # a lookup searches them all
    small_run_rows: int = 128  # runs that stay smaller are joined
    # For so many transactions, of which an epoch may have several, a table that was read in order gets no runs.
    in_order_memory: int = 64

    # Of a file of the log, preallocated: an fsync that need not grow the file takes half the time.
    log_segment_bytes: int = 32 << 20

    # Codecs of tables that were used lately: making one costs a small epoch as much as reading a row.
    codecs: int = 4096


DEFAULT_TUNING = StoreTuning()
