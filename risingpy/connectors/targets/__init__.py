"""What sinks deliver to: each target is a class of its own, which states its contract.

target         what a target is
choice         which target a sink's options mean: the table of all
options        the options of a target, checked
engine_options the options that mean the same for every sink
patience       a limit for checks of libraries that have none
encoders/      changes as messages, for targets that send them
blackhole, postgres, kafka, files, object_storage, iceberg, delta, redis, nats, mqtt, http
               the targets
binary_copy    rows of PostgreSQL's binary COPY
epoch_files    an epoch as a file
lake_columns   columns for Parquet, Iceberg and Delta
"""
