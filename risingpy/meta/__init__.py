"""The service in the middle: what is in the database, and which epoch is next.

In: sessions' writes and schema changes, from any thread. Out: epochs run by an engine, committed, and pinned for
reading. Called by sessions and by `risingpy.server`, through `database.Database`.

    database          the whole interface; schema_commands is the part for CREATE, ALTER and DROP
    barriers          the loop: schema changes between epochs, epochs one after the other
    next_epoch        what an epoch is for; epoch_result is the state after it
    published_state   the newest state that can be read, and who waits for a later one
    state             everything that a commit makes durable, as one immutable value; state_store keeps it
    ddl               schema changes: from one state to the next
    dml_log           what clients wrote and no epoch has yet; table_locks say who may write
    source_offsets    what the external sources have beyond the committed epoch
    work_since_start  what the operators have done, for EXPLAIN ANALYZE
    epoch_runner      what is asked of an engine: spark_runner, in_process_runner
"""
