"""Who serves a connection: the event loop waits for clients at rest, a worker's thread serves one that has work.

A thread whose statement takes long has a lower priority (`priority.py`).
"""
