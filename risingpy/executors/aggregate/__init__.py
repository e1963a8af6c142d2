"""Aggregation executors, and their calls with state tables.

hash_agg, simple_agg, local_agg     many groups, one group, the first of two phases
eowc_hash_agg                       groups that come out once (EMIT ON WINDOW CLOSE)
calls                               calls whose state is one value per group
materialized_input, distinct        calls that store their input in order, and calls over distinct arguments
user_state                          calls of users' functions
"""
