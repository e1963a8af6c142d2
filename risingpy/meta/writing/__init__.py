"""Clients' writes, until an epoch has them. Any thread may call this package.

writes             the interface for statements
group_commit       small writes of many sessions, made durable together
row_changes        UPDATEs and DELETEs of single rows among them
dml_log            durable rows that no epoch has yet
table_locks        the locks of tables, and their queues
seen_locks         what of them catalogs show
sequence_counters  where sequences stand
"""
