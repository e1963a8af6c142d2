"""From a bound query to what runs: rules, stream plan, fragments, and how each is shown.

In: a `plan.logical.LogicalPlan` of the binder and a `plan.catalog.Catalog`. Out, for a materialized view or a table: a
`stream.StreamJobPlan` of `plan.operators`, cut by `fragments` into a `plan.graph.Job`; for a SELECT: DuckDB SQL.
`rules/` rewrite the logical plan; `stream_key`, `distribution` and `watermarks` derive what every operator has;
`explain` prints. Called by meta (jobs) and frontend (queries, EXPLAIN).
"""
