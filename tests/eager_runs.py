"""Makes sorted runs (`storage.stored_rows`) wherever possible: the few rows of tests would otherwise be in the tree."""

from __future__ import annotations

from risingpy.storage.tuning import StoreTuning

# Every batch of a table that is not read in order in its transaction becomes runs.
EAGER_RUNS = StoreTuning(
    run_batch_rows=1,
    run_table_times=0,
    run_slices=0,
    run_gap_rows=0,  # everything is far from everything
    waiting_part=0.25,  # what the table held before the epoch, four times
    runs_per_slice=3,
    small_run_rows=3,
    in_order_memory=-1,
    merged_rows=1,
    first_page_rows=1,
    rows_per_range=1,
    page_growth=2,
)
