"""Expressions as values: by Arrow's functions where they mean what PostgreSQL means, else by DuckDB's SQL.

`evaluate` for change chunks, `duckdb_sql` for the text of a query; `sql_*` are its parts, `duckdb_*` what runs it.
"""
