"""What a query becomes, as data: what the planner makes, the meta service stores and tasks run.

    expressions, window_calls    typed expressions over rows; `expression_trees` walks them
    logical                      what a query means, for SELECT and views alike
    operators                    a stream plan: its operators, with those of `aggregates`, `joins` and `ordered`
    properties                   what every operator has: schema, stream key, distribution, watermarks
    state_tables                 what operators keep, and in which shape; `key_types` are those that keys may be of
    traversal, watermark_use     walking through a plan, and what operators do by watermarks
    graph                        jobs and fragments: what runs
    catalog                      relations, as planners read them
    codec, graph_codec           all of these as bytes; `stored_classes` has the format's tags

No planning and no execution: the optimizer, the executors and the meta service import this, and it none of them.
"""
