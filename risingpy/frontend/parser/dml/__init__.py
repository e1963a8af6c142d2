"""The grammar of statements that write rows.

rows     INSERT, UPDATE, DELETE, TRUNCATE
merge    MERGE
copy     COPY
"""
