"""Stream plans: their operators keep a query's result up to date while its inputs change.

jobs, index                         the jobs of tables, views and indexes
planner                             a query's operators, bottom-up; it calls the files of single operators:
scan, aggregation, dedup, join, nested_loop_join, interval_join, temporal_join, dynamic_filter, top_n, over_window,
union, projection, window_close
properties                          an operator's derived properties, by
stream_key, distribution, watermarks
expressions, look_ahead             what a view may compute; how far its window functions look
first_rows, closing_column          views whose own rows are their state; columns that EMIT ON WINDOW CLOSE needs
fragments                           cuts the plan at its exchanges
"""
