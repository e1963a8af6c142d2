"""Expressions: typed nodes in, values out.

The binder makes `nodes` by the `signatures` table. Batch SELECT writes them out with `duckdb_sql.compile_expression`
and runs them on `duckdb_connection.connect()`. Executors evaluate them on change chunks with `evaluate.Evaluator`,
which takes Arrow's functions (`arrow_functions`) where they mean what PostgreSQL means, else DuckDB.
"""
