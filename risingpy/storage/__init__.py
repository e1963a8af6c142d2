"""Bytes that last: rows as LMDB keeps them, the write-ahead log, the meta store.

In: Arrow arrays of a `codec.table_schema.TableSchema`. Out: the same, later. Called by executors
(`engine.state_table`), queries (`engine.storage_table`), and meta (`engine.read_views`, `log.write_ahead_log`,
`engine.meta_store`).

    codec/      layouts of keys and rows, byte by byte; all of a table's codecs
    kernels/    the compiled loops of the codecs and of LMDB's calls
    engine/     LMDB, a shard's rows in it, a task's transaction, a query's pinned epoch, the meta store
    log/        clients' rows before their epoch
    journal/    with --state: what is in shared storage, in which order, and who may write it
    objects/    shared storage: immutable objects, created by put-if-absent
    tuning                                every threshold, with what was measured
    fault_points                          the steps that tests kill or fail, by name
    format_note                           format.json: which formats a data directory has (the list: formats.py)
    disk_failure durable_directory        what the disk says; files and names that survive a loss of power

No re-exports: a task that reads one thing loads one thing.
"""
