"""CREATE, ALTER and DROP.

Each change is a function from one `MetaState` to the next; the barrier loop applies it between two epochs.

    commands           what statements ask for: a change is submitted, waited for, and undone if it is cancelled
    relations          CREATE and DROP of tables, views, sources and schemas
    functions          the same of functions and aggregates
    indexes            the same of indexes, which follow their relation when it is altered
    alter              ALTER TABLE and the renaming of relations
    system_parameters  ALTER SYSTEM
    planned_ahead      a change that is computed while epochs go on
    new_jobs           takes away what a CREATE that ends early has begun
    internal_tables    the tables that jobs keep their state in, as relations
"""
