"""The grammar of statements that write rows.

rows     INSERT, UPDATE, DELETE, TRUNCATE
copy     COPY
"""
