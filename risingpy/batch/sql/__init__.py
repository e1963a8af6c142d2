"""A logical plan as one DuckDB SELECT.

query               the SELECT, operator by operator
aggregates, series  aggregate calls; sets made of series
as_of_ties          which of several nearest rows an ASOF join takes
guarded_conjuncts   the order of conditions that may fail
"""

from risingpy.batch.sql.query import ScanName, to_duckdb_sql

__all__ = ["ScanName", "to_duckdb_sql"]
