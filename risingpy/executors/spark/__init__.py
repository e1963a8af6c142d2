"""Epochs on Spark Structured Streaming. In: an epoch descriptor. Out: the tasks' reports. Called by `server.py`.

`driver` runs the streaming query in the server, `epoch_source` is its source, `stage_task` what its tasks do,
`session` Spark's settings, `daemon` the warmed parent of the Python workers.
"""
