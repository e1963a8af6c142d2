"""System relations: pg_catalog, information_schema and rw_catalog, as tables made from the catalog when queried.

In: the text of a query that `recognize.divide` took for the system's, and a `SystemState`. Out: Arrow tables.
`system_query.py` answers, `rewrite.py` translates to DuckDB's SQL, `registry.py` lists the relations, one
file per relation or family. Called by sessions.
"""
