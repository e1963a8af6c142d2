"""Join executors, and their parts.

    hash_join, as_of_join, temporal_join, dynamic_filter    one executor each
    keys, pairs                                             which rows have the same key
    side, changes                                           an input's stored rows, and its changes
    output                                                  the result

In: change chunks and state tables. Out: change chunks.
"""
