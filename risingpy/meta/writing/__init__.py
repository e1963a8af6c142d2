"""Clients' writes, until an epoch has them. Any thread may call this package.

writes             the interface for statements
dml_log            durable rows that no epoch has yet
table_locks        the locks of tables, and their queues
sequence_counters  where sequences stand
"""
