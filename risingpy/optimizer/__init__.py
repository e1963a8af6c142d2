"""From a bound query to what runs: logical plan, rules, stream plan, fragments, and how each is shown.

In: a `logical.LogicalPlan` of the binder and a `catalog.Catalog`. Out, for a materialized view or a table: a
`stream.StreamJobPlan` (operators of `plan`), cut by `fragments` into a `graph.Job`; for a SELECT: DuckDB SQL. `rules/`
rewrite the logical plan; `stream_key`, `distribution` and `state_tables` derive what every operator has;
`explain` prints, `plan_codec` stores. Called by meta (jobs), frontend (queries, EXPLAIN) and the tasks that run graphs.

Imports are by module, so that a task that only decodes plans loads no planner.
"""
