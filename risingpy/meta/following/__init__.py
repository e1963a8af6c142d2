"""A server that reads a database in shared storage, and that another server leads.

`FollowedState` is the storage; `FollowingLoop` brings this server's stores to each version that the leader commits.
"""
