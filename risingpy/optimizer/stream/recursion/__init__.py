"""Plans recursions: an operator that runs its step within an epoch, level by level.

`recursion.py`: WITH RECURSIVE. `mutual_recursion.py`: WITH MUTUALLY RECURSIVE, whose step `differences.py` writes.
Called by the planner; the executors are those of `executors/recursion/`.
"""
