"""A database whose truth is in shared storage (`--state`): what the server has on its own disk is a cache.

shared_state   opens the storage as its leader, and makes log blocks and transactions durable there
cache          what a data directory is a cache of, and whether it can be believed
renewal        brings shards, log and meta store to a version
compactor      keeps shared storage small, and quick to read, while epochs go on
layout         puts the whole state there again, on another number of shards
pins           keep a version under a name, as a backup
"""
