"""The meta service: keeps the catalog and the log, and runs and commits the epochs.

In: sessions' writes and schema changes, from any thread. Out: committed epochs, which sessions pin and read. An engine
runs them. Called by sessions and by `risingpy.server`, through `database.Database`.

    database       opens, holds and closes what callers use: reads, writing/writes, schema/commands, introspection
    state          everything that a commit makes durable, as one immutable value; durable_state keeps it
    cancellation   tells a waiting statement to end
    epochs/        the barrier loop: one epoch after the other, and changes of the schema between them
    schema/        CREATE, ALTER and DROP: from one state to the next
    writing/       the log of clients' writes, the locks of tables, the counters of identity columns
    recovery/      opens a data directory, checks, copies and rescales it
"""
