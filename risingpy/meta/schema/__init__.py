"""CREATE, ALTER and DROP.

Each change is a function from one `MetaState` to the next; the barrier loop applies it between two epochs.

    commands           the commands of statements: submit a change, wait for it, undo it if it is cancelled
    relations          CREATE and DROP of tables, views, sources and schemas
    roles              CREATE, ALTER and DROP of users and groups, and their memberships
    owners             who owns what: REASSIGN OWNED, DROP OWNED
    functions          CREATE and DROP of functions and aggregates
    indexes            CREATE and DROP of indexes, which also change when their relation is altered
    subscriptions      CREATE and ALTER of subscriptions, which also change when their relation is altered
    alter              ALTER TABLE and the renaming of relations
    system_parameters  ALTER SYSTEM
    planned_ahead      a change that is computed while epochs continue
    named_changes      what commands share: whose new objects are, and where names are found
    jobs/              jobs in creation: waits for them, removes them, and lets one replace another
    internal_tables    the tables that jobs keep their state in, as relations
"""
