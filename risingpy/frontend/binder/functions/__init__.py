"""Calls: from a name and trees of arguments to typed expressions.

calls                                     any call, by its name; it asks the others for theirs:
special, maps, lambdas, populate, system  functions with typing of their own
user_defined, arguments, sql_bodies       functions that users made
table_functions, time_windows, gap_fill   functions that give rows
aggregate_calls, hypothetical             aggregates as they are written
window_calls, frames                      OVER and WINDOW
array_query                               ARRAY(SELECT …)
"""
