"""System relations about other objects: which depend on which, comments, and sequences.

pg_depend     who needs whom
pg_description  comments
pg_sequence   what sequences count
user_types    enums, and the names of all types that users have created
composites    rows with a name
domains       domains and their constraints
"""
