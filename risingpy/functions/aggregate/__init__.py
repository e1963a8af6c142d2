"""Aggregates whose state is a value: its columns (`layout`), its updates by rows, and its result.

In: rows by group (`grouping`). Out: state columns and results. Called by the aggregation executors, by functions of
lists, and by the planner, which lays out state tables with `state_types` and a LocalAgg's columns with `partial_types`.
"""
