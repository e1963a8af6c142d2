"""A database as a Python program sees it: the interface, and a server behind it.

In: `risingpy.connect`. Out: an `OpenDatabase`, here of a server that is reached over the wire; `embedded` has the one
that runs in the program's own process. What a program reads and writes is the same for both.

    connecting.py        which of the two a target names
    interface.py         what both can do: databases, sessions, changes
    statement_result.py  a statement's rows, as Arrow, pandas, polars, Python
    python_values.py     Python values as parameters, and rows as Python values
    given_rows.py        rows of a program as the columns of a table
    live_result.py       a relation's rows in a notebook, shown anew when they change

A server's:

    server_database.py   its sessions
    server_session.py    runs statements in a connection
    server_connection.py  opens connections, and what sessions and changes do with them
    server_changes.py    the changes of a view, as they come over the wire
    received_rows.py     libpq's results as columns of SQL types
    sent_rows.py         Arrow as the rows of COPY
    libpq_errors.py      psycopg's errors as those of this database
"""
