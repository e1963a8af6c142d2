"""The optimizer: rewrites bound queries, plans the jobs of tables and views, and prints plans.

    rules       rewrite the logical plan
    stream      plans a job: operators, bottom-up, with stream key, distribution and watermarks of each; then fragments
    explain     plans as text, JSON or a graph

In: a `plan.logical.LogicalPlan` of the binder and a `plan.catalog.Catalog`. Out, for a SELECT: the rewritten logical
plan, which `batch` plans. Out, for a materialized view or a table: a `stream.jobs.StreamJobPlan` of `plan.operators`,
which `stream.fragments` cuts into a `plan.graph.Job`. Called by meta (jobs) and frontend (queries, EXPLAIN).
"""
