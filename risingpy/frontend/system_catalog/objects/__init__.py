"""System relations about other objects: which depend on which, comments, and sequences.

pg_depend     who needs whom
pg_description  comments
pg_sequence   what sequences count
"""
