"""PostgreSQL's changes as they are committed: `connector = 'postgres-cdc'`.

connector    checks, describes tables, and runs: new tables' snapshots first, then the slot's transactions
options      the options of CREATE SOURCE, checked
upstream     what the other database says of itself: settings, publication, tables, columns and their types
upstream_connection  a connection to it
table_shapes what a table is apart from its rows, and what of it was altered
followed_tables  the copies: where their columns stand in the stream, and why one of them cannot go on
replication  a connection in COPY BOTH: starts the stream, reads messages, confirms positions
receiver     makes groups of whole transactions, which it gives to the engine
pgoutput     the bytes of many row messages, decoded column by column
unchanged    fills in large values that PostgreSQL leaves out of an update
snapshot     a table's rows at an exact position of the log

In: a slot of plugin pgoutput, protocol 1. Out: groups of change chunks, each with the end of its last transaction.
"""

from risingpy.connectors.postgres_cdc.connector import PostgresCdcConnector

__all__ = ["PostgresCdcConnector"]
