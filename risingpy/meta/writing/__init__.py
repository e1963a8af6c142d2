"""What clients write, until an epoch has it.

Called from every thread.

    writes             what statements use
    dml_log            durable rows that no epoch has yet
    table_locks        who may write to a table, and who waits
    identity_counters  the numbers of identity columns
"""
