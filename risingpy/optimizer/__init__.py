"""From a bound query to what runs: rules, stream plan, fragments, and how each is shown.

    rules       rewrite the logical plan
    stream      the plan of a job: operators, bottom-up, with stream key, distribution and watermarks of each; fragments
    explain     plans as text, JSON or a graph
    batch*      a logical plan as DuckDB SQL

In: a `plan.logical.LogicalPlan` of the binder and a `plan.catalog.Catalog`. Out, for a materialized view or a table: a
`stream.jobs.StreamJobPlan` of `plan.operators`, cut by `stream.fragments` into a `plan.graph.Job`; for a SELECT: DuckDB
SQL. Called by meta (jobs) and frontend (queries, EXPLAIN).
"""
