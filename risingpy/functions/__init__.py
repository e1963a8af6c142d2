"""The SQL functions and aggregates, and the evaluation of expressions over rows.

    signatures, signature_tables    what the binder chooses from; `numeric_results` and `volatile` say more of them
    evaluation                      expressions as Arrow calls, or as DuckDB SQL where Arrow has none
    topics                          functions of our own, on Arrow columns, a file per topic
    aggregate                       states of aggregates as columns: how they grow, and their results
    packed_types                    types as texts
    python                          users' functions, in processes of their own

The binder makes `plan.expressions` by the signatures. A batch SELECT writes them as SQL (`evaluation.duckdb_sql`);
executors evaluate them on change chunks (`evaluation.evaluate`).
"""
