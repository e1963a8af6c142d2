"""Epochs on Spark Structured Streaming. In: an epoch descriptor. Out: the tasks' reports. Called by `server.py`.

`driver` runs the streaming queries (`epoch_query`) in the server, `epoch_source` is their source, `stage_task` has what
their tasks do. `epoch_channel` is the socket between the server and the tasks. `session` starts Spark with its
settings, `java_output` reads what it prints, and `daemon` is the warmed parent of the Python workers.
"""
