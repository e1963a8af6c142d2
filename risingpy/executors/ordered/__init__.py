"""Executors whose result depends on an order: the first rows of groups, and window functions.

top_n, local_top_n                          first rows in general, and their first phase before the exchange
first_of_group, dedup                       first rows of append-only inputs
over_window, window_functions               window functions over partitions that change
kept_tail                                   what rows to come need of those that are there
ordered_rows                                matches stored rows with their changes, in order
"""
