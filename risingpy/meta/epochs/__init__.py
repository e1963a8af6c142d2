"""The barrier loop: one epoch after the other, and changes of the schema between them.

In: rows of the log and of sources, changes of the schema. Out: committed epochs, which anybody may read.

    barrier_loop      the loop's thread
    next_epoch        what an epoch is for
    result            the state after an epoch; failed_jobs the state without a job that failed
    number            the numbers of epochs, which are times
    published_state   the newest state that can be read, and who waits for a later one
    graph_changes     changes of the schema that wait for the running epoch
    source_offsets    what the external sources have beyond the committed epoch
    passing_time      when time alone changes a view next
    work_since_start  what the operators have done, for EXPLAIN ANALYZE
    runner            what is asked of an engine: spark_runner, in_process_runner
    shape             whether an epoch is one task or many
"""
