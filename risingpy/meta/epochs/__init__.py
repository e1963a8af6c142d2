"""The barrier loop: one epoch after the other, and changes of the schema between them.

In: rows of the log and of sources, changes of the schema. Out: committed epochs, which all sessions may read.

    barrier_loop      the loop's thread
    scheduler         decides when an epoch is due; next_epoch decides what is in it
    committer         commits an epoch from its report, and publishes it
    waiters           statements that wait for a later state
    result            the state after an epoch; failed_jobs: the state without a job that failed
    number            the numbers of epochs, which are times
    published_state   the newest state that can be read
    graph_changes     changes of the schema that wait for the running epoch
    source_offsets    the external sources' rows after the committed epoch
    rescaling         moves the state to another number of shards between two epochs
    passing_time      the next time at which a view changes only because time passes
    work_since_start  the operators' work, for EXPLAIN ANALYZE
    runner            the interface of an engine: spark_runner, in_process_runner
    shape             decides whether an epoch is one task or many

Threads. One thread, the loop's, owns the `MetaState`: it alone calls the scheduler, the committer and the engine, and
it alone replaces the published state. Statements' threads call `Waiters`, `GraphChanges.apply` and `submit`, read
`PublishedState`, and append to the log. One condition, `PublishedState.changed`, guards the pair of state and view, the
queue of changes, and the flags that no epoch will follow. Threads hold it only briefly: never during an epoch, a commit
or a read of a view, and never while they wait for a table. The log has its own lock, and releases it before it calls
`wake`.
"""
