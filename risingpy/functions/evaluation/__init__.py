"""Evaluates expressions: by Arrow's functions if these do what PostgreSQL's do, else by DuckDB's SQL.

`evaluate` is for change chunks, `duckdb_sql` writes the text of a query; `sql/` has its parts, `duckdb_*` run it.
"""
