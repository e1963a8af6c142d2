"""Writes: plans whose rows the session logs.

insert, copy, rewrite   INSERT; COPY … FROM; UPDATE and DELETE
target                  the table, its columns, and what may be written there
merge                   MERGE
on_conflict             INSERT … ON CONFLICT
returning               RETURNING
"""
