"""System relations of objects that belong to others: which depend on which, and sequences.

pg_depend     who needs whom
pg_sequence   what sequences count
"""
