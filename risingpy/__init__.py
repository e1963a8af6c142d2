"""RisingPy, a streaming database: SQL over PostgreSQL's wire protocol, views that stay equal to their queries.

In: clients' bytes, at `server.py`. Out: answers, and a data directory. `cli.py` is the command; `config.py` its
settings.

    frontend      the wire protocol, sessions, parser, binder, a file per statement, system catalogs
    meta          the catalog, epochs, the log of writes, schema changes, recovery
    optimizer     logical plans and rules; stream plans, stream keys, state tables, fragments; EXPLAIN
    executors     an epoch's changes through every operator; expressions; the Spark driver
    connectors    external sources
    storage       key and row encodings, LMDB stores, state tables, the write-ahead log
    types         SQL types: Arrow types, text and binary forms
    errors        what a client is told
    sqllogictest  suites of SQL with their answers, and the runner; a client like any other
    demo          `risingpy demo`

Imports go downwards in this list (docs/architecture.md; `make lint` holds it).
"""
