"""System relations: pg_catalog, information_schema and rw_catalog, whose rows are made of the catalog when queried.

In: a `SystemState`, which is all that a session can know at a moment (`session_state.py` makes it). Out: Arrow tables.
`registry.py` lists the relations, a file per relation or family; `lookups.py` are those that functions read; `names.py`
tells the binder what a constant regclass and its like mean. Called by the binder, for columns and names, and by the
batch runner, for rows.
"""
