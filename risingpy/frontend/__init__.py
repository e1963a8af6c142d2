"""From a client's bytes to plans and back to rows.

In: TCP connections. Out: calls of `meta.database.Database`, and answers on the wire. Called by `risingpy.server`.

    wire/             PostgreSQL's protocol; knows sessions only as `session_protocol`
    session           one client's session: prepares and runs statements
    parser/           text → statements (dataclasses; queries inside are sqlglot trees)
    binder/           statements → typed logical plans; sqlglot ends here
    statements/       how each statement is run, one file each
    catalog/          system relations: pg_catalog, information_schema, rw_catalog
    query             batch queries: DuckDB over one committed epoch; literal_rows, key_lookup and direct_rows do without
    transaction       what a transaction has written and not logged yet; written_rows makes it, returning answers from it
    settings          SET and SHOW; parameter_definitions has every parameter, parameter_kinds what it takes
    deadline          statement_timeout
"""
