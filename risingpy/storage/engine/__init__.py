"""Rows in LMDB: a table in an epoch, a shard, and the committed epochs that queries read.

lmdb_environment native_lmdb              LMDB itself: maps, forks, snapshots; many keys in one call
stored_rows sorted_runs merged_cursor     a transaction's rows: the tree, and what waits to be merged into it
key_scan key_scan_backward range_scan key_ranges   reads of keys and of ranges
mem_table state_table                     a table in an epoch: writes over what is stored
shard_store shard_writer undo_record      a shard, a task's transaction on it, and how to take it back
table_statistics store_check compaction   what tables hold, and whether it is true; what dropped columns left
read_views storage_table                  committed epochs, pinned for queries, and a table in one
meta_store                                catalog and commit point; the lock of the data directory
"""
