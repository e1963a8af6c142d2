"""Sequences, types, and comments on whatever there is, as functions from one `MetaState` to the next.

sequences         CREATE and ALTER of sequences, also those of serial and identity columns
needed_sequences  which defaults name them, and what goes with a column or a table
user_types        CREATE TYPE and ALTER TYPE, and the newest forms of types in what a change has made
domains           CREATE DOMAIN and ALTER DOMAIN
composites        CREATE TYPE … AS (…) and ALTER TYPE … ATTRIBUTE
dropped_types     DROP TYPE and DROP DOMAIN
moved_functions   ALTER FUNCTION … RENAME TO, SET SCHEMA
view_columns      ALTER VIEW and ALTER MATERIALIZED VIEW … RENAME COLUMN
comments          COMMENT ON
"""
