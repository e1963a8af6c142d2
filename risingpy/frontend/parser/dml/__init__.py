"""The grammar of statements that write rows.

rows             INSERT, UPDATE, DELETE, TRUNCATE
merge            MERGE
copy             COPY
table_of_query   CREATE TABLE AS, SELECT INTO
"""
