"""A logical plan as one DuckDB SELECT.

query               writes the SELECT, operator by operator
aggregates, series  write aggregate calls, and sets made of series
as_of_ties          decides which of several nearest rows an ASOF join takes
guarded_conjuncts   keeps the order of conditions that may fail
"""

from risingpy.batch.sql.query import GIVEN_ROWS, ROUNDS, MutualRecursionSql, QuerySql, ScanName, to_duckdb_sql

__all__ = ["GIVEN_ROWS", "ROUNDS", "MutualRecursionSql", "QuerySql", "ScanName", "to_duckdb_sql"]
