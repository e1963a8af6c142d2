"""Executors whose result depends on an order: the first rows of groups, and window functions.

top_n, local_top_n, first_of_group, dedup   first rows: in general, before the exchange, of append-only inputs
over_window, window_functions               window functions over partitions that change
ordered_rows                                stored rows and changes of them, in order
"""
