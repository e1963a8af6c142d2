"""Keeps the rows of tables as their constraints say. The statements that write rows call it.

violations    the errors, in PostgreSQL's words
checks        CHECK, of the rows alone
domains       the rules of columns' domains
guarded       which tables have constraints about other rows, and the locks of statements that write to them
enforcement   UNIQUE and FOREIGN KEY, by queries over the tables as a statement leaves them
"""
