"""Pushed sources: their connectors run in threads of the server, and log rows for the tables that copy from them.

feeds      starts and stops the threads as sources come and go; waits for new tables
feed       the thread of one source, which starts its connector again when the other side has failed
feed_rows  what a connector calls: its tables, its last offset, and what it has left out
feed_group a group of changes on its way to the log

In: catalog entries of sources and tables. Out: groups of the log, each with its source's offset.
"""
