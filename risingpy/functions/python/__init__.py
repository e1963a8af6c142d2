"""Users' functions and aggregates in Python, which run in their own processes.

In: a definition (`PythonFunction`, as text) and Arrow columns. Out: Arrow columns, or an error that names function,
line and row. A task or the server calls `call_worker`, which keeps a few worker processes:

    task ── definition, columns ──▶ worker.py ─▶ routine.py (scalars, sets), aggregation.py ── columns ──▶ task

So a function that crashes, takes all memory or never ends only harms its own query or view. A worker may take
`MEMORY_LIMIT_BYTES` more than at its start, and has `TIME_LIMIT_SECONDS` for a chunk of rows. `walls/`
keep it from files, networks and other processes.
"""

from risingpy.functions.python.definition import PythonFunction, RoutineKind
from risingpy.functions.python.worker_process import call_worker

__all__ = ["PythonFunction", "RoutineKind", "call_worker"]
