"""An epoch as a task sees it.

descriptor, input, time     what a task knows of it
task                        what one task does
stage_runner                a stage's fragments on a shard; all stages where no shuffle is needed
operator_tree               a fragment's operators, which outlive the epoch
exchange, shard_threads     deltas on their way to other shards; shards at once
"""
