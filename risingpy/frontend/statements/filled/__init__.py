"""Statements whose table is filled before anybody sees it: CREATE TABLE AS, SELECT INTO, ADD PRIMARY KEY.

add_primary_key   ALTER TABLE … ADD PRIMARY KEY
added_columns     ADD COLUMN with numbers, or other values that differ from row to row
changed_key       a copy of the table, the type of its key's column changed
create_table_as   a table of a query
new_key           a copy of the table under its key, which takes the table's place
filling           writes the rows of a query to a table that is in creation
"""
