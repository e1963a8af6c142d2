"""Relations: how rows come in, and how a relation is stored.

dml, source, backfill       read a table's log, an external source, another relation's rows and changes
materialize, conflicts      store a relation, and decide between several rows of one key
row_times                   keeps when the rows of a table were written
"""
