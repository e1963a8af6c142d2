"""Aggregation executors, and their calls with state tables.

hash_agg, simple_agg, local_agg     groups, one group, the first of two phases
eowc_hash_agg                       groups that come out once (EMIT ON WINDOW CLOSE)
calls                               calls whose state is a value
materialized_input, distinct        calls that keep their input in order, or its distinct arguments
user_state                          calls of users' functions
"""
