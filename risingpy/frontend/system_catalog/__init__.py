"""System relations: pg_catalog, information_schema and rw_catalog. Queries compute their rows from the catalog.

In: a `SystemState`, which has all that a session can know at a moment (`session_state.py` makes it). Out: Arrow tables.
`registry.py` lists the relations, a file per relation or family; `lookups.py` has those that functions read; `names.py`
gives the binder the oids of constant regclass values and similar ones. Called by the binder, for columns and names, and
by the batch runner, for rows.
"""
