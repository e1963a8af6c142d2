"""From a client's bytes to plans and back to rows.

In: TCP connections. Out: calls of `meta.database.Database`, queries for `risingpy.batch`, and answers on the wire.
Called by `risingpy.server`.

    wire/             PostgreSQL's protocol; knows sessions only as `session_protocol`
    results, portals  a session's arguments and results, as data; copy_options are those of COPY
    webhook/          HTTP requests that add rows to tables
    session/          one client's session: prepares and runs statements
    parser/           text → statements (dataclasses; queries inside are sqlglot trees)
    binder/           statements → typed logical plans; sqlglot ends here
    statements/       how each statement is run, one file each: a `command`, made with a `statement_context`
    system_catalog/   system relations: pg_catalog, information_schema, rw_catalog
    transaction       a transaction's writes that are not logged yet; written_rows, unique_keys and returning make them;
                      transaction_scope begins and ends transactions
    settings          SET and SHOW; parameters has every parameter, and the values it takes
"""
