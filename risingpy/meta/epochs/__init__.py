"""The barrier loop: one epoch after the other, and changes of the schema between them.

In: rows of the log and of sources, changes of the schema. Out: committed epochs, which anybody may read.

    barrier_loop      the loop's thread
    scheduler         when an epoch is due; next_epoch is what goes in
    committer         a report comes in, the commit point, publishing
    waiters           who waits for a later state, and who is told that none will come
    result            the state after an epoch; failed_jobs the state without a job that failed
    number            the numbers of epochs, which are times
    published_state   the newest state that can be read
    graph_changes     changes of the schema that wait for the running epoch
    source_offsets    what the external sources have beyond the committed epoch
    passing_time      when time alone changes a view next
    work_since_start  what the operators have done, for EXPLAIN ANALYZE
    runner            what is asked of an engine: spark_runner, in_process_runner
    shape             whether an epoch is one task or many

Threads. One thread, the loop's, owns the `MetaState`: it alone calls the scheduler, the committer and the engine, and
it alone replaces the published state. Statements' threads call `Waiters`, `GraphChanges.apply` and `submit`, read
`PublishedState`, and append to the log. One condition, `PublishedState.changed`, guards the pair of state and view, the
queue of changes, and the flags that say that the end has come. Threads hold it for moments only: never during an epoch,
a commit or a read of a view, or while they wait for a table. The log has a lock of its own, and lets go of it before
it calls `wake`.
"""
