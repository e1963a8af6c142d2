"""Join executors, and their parts.

    hash_join, as_of_join, temporal_join, dynamic_filter    an executor each
    keys, pairs                                             which rows meet
    side, changes                                           what is kept of an input, and how it changes
    output                                                  the result

In: change chunks and state tables. Out: change chunks.
"""
