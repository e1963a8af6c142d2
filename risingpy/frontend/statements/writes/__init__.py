"""How statements that read the table they write to lock it, and what they compare.

locked_write       the table's lock, and the statement's form under it
rows_by_key        the locks of single rows, and the newest rows under them
planned_rewrite    the plan of UPDATE and DELETE
insert_by_key      INSERT into a table with unique or foreign keys
update_by_key      UPDATE and DELETE of one row, which lock that row alone
arbiters           the keys by which ON CONFLICT finds rows
with_writes        the parts of a WITH that run before the statement, or after it
returned_subqueries  a RETURNING with subqueries as such a WITH
part_order         which of them run after it
volatile_items     which of them do so because they are different each time
on_conflict        INSERT … ON CONFLICT
merge              MERGE
"""
