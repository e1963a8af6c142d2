"""Epochs on a Spark cluster, whose machines share nothing but `--state` and what Spark itself carries.

    order        what a task must know: descriptor, state's URI, graph, log rows, and which attempts counted last
    platform     the versions that driver and workers must have in common
    shard_cache  a shard on a task's machine: loaded, brought up to date, freed of attempts that do not count
    carried_key  the key of secrets, sealed for the workers
    worker       an `EpochWorker` over such caches
    task         a stage on a shard; what it sends to later stages and to the driver
    placement    which executor a shard's tasks run on, and which shards are to be loaded elsewhere first
    shard_loading  the jobs that load these

`executors.spark.cluster_epoch` makes a Spark job of them.
"""
