"""Functions and aggregates that users wrote in Python, in a process of their own.

In: a definition (`PythonFunction`, as text) and Arrow columns. Out: Arrow columns, or an error that names function,
line and row. A task or the server calls `call_worker`, which keeps a few worker processes:

    task ── definition, columns ──▶ worker.py ─▶ routine.py (scalars, sets), aggregation.py ── columns ──▶ task

So a function that crashes, takes all memory or never ends harms nobody but its own query or view: a worker may take
`MEMORY_LIMIT_BYTES` more than it begins with, and has `TIME_LIMIT_SECONDS` for a chunk of rows. It runs with the rights
of the server's user, though: this is no sandbox.
"""

from risingpy.functions.python.definition import PythonFunction, RoutineKind
from risingpy.functions.python.worker_process import call_worker

__all__ = ["PythonFunction", "RoutineKind", "call_worker"]
