"""The write-ahead log: clients' rows, durable before their epoch.

write_ahead_log   appends, syncs, tells the clients; drops files whose rows are in committed epochs
segment           a file of the log: blocks, checksums, where a torn one is cut
spill             a transaction's rows that wait for COMMIT beside the log
reader            the records between two positions
cut               ends a copy where the log ended at an earlier moment
"""
