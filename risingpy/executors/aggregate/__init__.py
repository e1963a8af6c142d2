"""Aggregate calls: what their state is, how changes are added to it, and what the result is.

In: rows by group (`grouping`). Out: state columns and results. Called by the aggregation executors, and by the
planner, which lays out the state tables with `state_types` and the columns of a LocalAgg with `partial_types`.
"""

from risingpy.executors.aggregate.layout import partial_types, state_types

__all__ = ["partial_types", "state_types"]
