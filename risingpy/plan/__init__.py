"""What a query becomes, as data: what the planner makes, the meta service stores and tasks run.

    expressions, window_calls    typed expressions over rows; `expression_trees` walks them
    logical                      what a query means, for SELECT and views alike
    operators                    a stream plan: its operators, with those of `aggregates`, `joins` and `ordered`
    aggregate_families           which aggregates are made of sums of squares
    properties                   what every operator has: schema, stream key, distribution, watermarks
    state_tables                 what operators keep, and in which shape; `key_types` are those that keys may be of
    traversal, watermark_use     walking through a plan, and what operators do by watermarks
    graph                        jobs and fragments: what runs
    catalog                      relations and functions, as planners read them
    codec, graph_codec           all of these as bytes; `stored_classes` has the format's tags

It decides and executes nothing: the optimizer, the executors, the meta service and the frontend import this, and it
imports none of them.
"""
