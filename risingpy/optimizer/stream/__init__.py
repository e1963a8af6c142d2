"""Stream plans: what keeps a query's answer equal to the query while its inputs change.

jobs, index                         the jobs of tables, views and indexes
planner                             a query's operators, bottom-up; it calls the files of single operators:
scan, aggregation, dedup, join, nested_loop_join, interval_join, temporal_join, dynamic_filter, top_n, over_window,
union, projection, window_close
properties                          what is derived for each operator, from
stream_key, distribution, watermarks
expressions, look_ahead             what a view may compute; how far its window functions look
first_rows, closing_column          views whose own rows are their state; columns that EMIT ON WINDOW CLOSE needs
fragments                           the plan cut at its exchanges
"""
