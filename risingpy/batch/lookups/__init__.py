"""Finds rows that a join needs with the values of its other side, by a key or an index.

join_lookups     which joins of a query allow it: when it is planned
looked_up_rows   whether it is worth it, and the rows: in each run
"""
