"""From a client's bytes to plans and back to rows.

In: TCP connections. Out: calls of `meta.database.Database`, queries for `risingpy.batch`, and answers on the wire.
Called by `risingpy.server`.

    wire/             PostgreSQL's protocol; knows sessions only as `session_protocol`
    results, portals  what a session takes and gives, of which the wire makes bytes; copy_options are those of COPY
    session/          one client's session: prepares and runs statements
    parser/           text → statements (dataclasses; queries inside are sqlglot trees)
    binder/           statements → typed logical plans; sqlglot ends here
    statements/       how each statement is run, one file each: a `command`, made with a `statement_context`
    catalog/          system relations: pg_catalog, information_schema, rw_catalog
    transaction       what a transaction wrote and has not logged yet; written_rows, unique_keys and returning make it;
                      transaction_scope has what begins and ends with it
    settings          SET and SHOW; parameter_definitions has every parameter, parameter_kinds what it takes
"""
