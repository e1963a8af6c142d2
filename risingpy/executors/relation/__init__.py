"""Relations: how rows come in, and how a relation is stored.

dml, source, table_scan     the log of a table, an external source, the rows and changes of a relation
materialize, conflicts      storing a relation; several rows of one key
"""
