"""Parts of join executors: which rows meet (`keys`, `pairs`), what is kept of a side (`side`), the result (`output`).

In: change chunks and state tables. Out: change chunks. Called by `hash_join`.
"""
