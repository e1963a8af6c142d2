"""The service in the middle: what is in the database, and which epoch is next.

In: sessions' writes and schema changes, from any thread. Out: epochs run by an engine, committed, and pinned for
reading. Called by sessions and by `risingpy.server`, through `database.Database`.

    database       opens, holds and closes what callers use: reads, writing/writes, schema/commands, introspection
    state          everything that a commit makes durable, as one immutable value; durable_state keeps it
    cancellation   how a waiting statement is told to end
    epochs/        the barrier loop: one epoch after the other, and changes of the schema between them
    schema/        CREATE, ALTER and DROP: from one state to the next
    writing/       the log of what clients wrote, the locks of tables, the counters of identity columns
    recovery/      opens a data directory, checks, copies and rescales it
"""
