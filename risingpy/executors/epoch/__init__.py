"""An epoch as a task sees it.

descriptor, input, time     what a task knows of the epoch
task                        what one task does
stage_runner                runs a stage's fragments on a shard, or all stages in one process
loaded_graph                a stream graph, prepared for running
operator_tree               a fragment's operators, which are kept from epoch to epoch
exchange, shard_threads     sends deltas to other shards; runs shards in parallel
"""
