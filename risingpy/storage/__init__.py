"""Bytes that last: rows as LMDB keeps them, the write-ahead log, the meta store.

In: Arrow arrays of a `table_schema.TableSchema`. Out: the same, later. Called by executors (`state_table`), queries
(`storage_table`), and meta (`state_store`, `write_ahead_log`, `meta_store`).

    key_encoding row_encoding value_encoding     layouts, byte by byte; kernels/ has the loops, reference_codec the law
    column_buffers group_keys table_codec        Arrow's buffers; sorting and grouping keys; all of a table's codecs
    lmdb_environment durable_directory           LMDB and the file system, each mastered in one place
    fault_points                                 the steps that tests kill or fail, by name
    shard_store shard_writer undo_record         a shard, a task's transaction on it, and how to take it back
    mem_table key_scan state_table               a table in an epoch: writes over what is stored
    state_store storage_table                    committed epochs, pinned for queries
    write_ahead_log log_segment log_reader       clients' rows before their epoch
    meta_store                                   catalog and commit point; the lock of the data directory

No re-exports: a task that reads one thing loads one thing.
"""
