"""Rows in LMDB: a table in an epoch, a shard, and the committed epochs that queries read.

In: rows as `codec` has encoded them. Out: the same, as batches.

    lmdb_environment map_use                  LMDB's environments: maps, forks, snapshots
    transactions ranges                       what is asked of LMDB: ranges, limits and a direction in, batches out
    lmdb_library native_lmdb copied_rows      who does it: kernels on LMDB's C functions,
    py_lmdb                                   or py-lmdb
    stored_rows sorted_runs                   a transaction's rows: the tree, and what waits to be merged into it
    row_reading                               the one way to read them, keys being whole
    mem_table state_table                     a table in an epoch: writes over what is stored
    shard_store shard_writer undo_record      a shard, a task's transaction on it, and how to take it back
    table_statistics store_check compaction   what tables hold, and whether it is true; what dropped columns left
    read_views storage_table                  committed epochs, pinned for queries, and a table in one
    meta_store                                catalog and commit point; the lock of the data directory

No re-exports.
"""
