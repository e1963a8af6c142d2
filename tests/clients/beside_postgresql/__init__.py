"""Programs that say what a driver answers, on our server and on a PostgreSQL 15: every line is to be the same.

answers           the lines by what was asked, and the listed differences
test_drivers      PgJDBC and psqlODBC
differences/      what differs all the same, with a reason for each
"""
