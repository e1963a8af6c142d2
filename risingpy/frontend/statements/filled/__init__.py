"""Statements whose table is filled before anybody sees it: CREATE TABLE AS, SELECT INTO, ADD PRIMARY KEY.

add_primary_key   a copy of the table under its key, which takes the table's place
create_table_as   a table of a query
filling           writes the rows of a query to a table that is in creation
"""
