"""Queries are answered: planned as data when they are prepared, then run against one committed epoch.

In: an optimized logical plan (`PreparedQuery`). Out: record batches (`BatchRunner`, one per session).

plan                          the plan's nodes
planner, keys, index_choice   how it is made: keys in conditions, indexes in place of tables
prepared_query                keeps it until the catalog is another one
parameters, constants         values of parameters, put in; answers that are constants
system_relations              what the frontend gives for system relations
reads                         where each kind of input gets its rows
own_changes, row_keys         a transaction's own writes, laid over them
sql/                          a plan as DuckDB SQL
runner                        runs it
explain                       prints it
"""

from risingpy.batch.explain import explain_plan
from risingpy.batch.own_changes import OwnChanges
from risingpy.batch.parameters import Parameters, with_parameters
from risingpy.batch.plan import BatchPlan
from risingpy.batch.prepared_query import PreparedQuery
from risingpy.batch.row_keys import group_by_key
from risingpy.batch.runner import BatchRunner

__all__ = [
    "BatchPlan",
    "BatchRunner",
    "OwnChanges",
    "Parameters",
    "PreparedQuery",
    "explain_plan",
    "group_by_key",
    "with_parameters",
]
