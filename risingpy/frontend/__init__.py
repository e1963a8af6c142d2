"""From a client's bytes to plans and back to rows.

In: TCP connections. Out: calls of `meta.database.Database`, and answers on the wire. Called by `risingpy.server`.

    wire/             PostgreSQL's protocol; knows sessions only as `session_protocol`
    session           one client's session: prepares and runs statements
    parser/           text → statements (dataclasses; queries inside are sqlglot trees)
    binder/           statements → typed logical plans; sqlglot ends here
    statements/       how each statement is run, one file each
    catalog/          system relations: pg_catalog, information_schema, rw_catalog
    query             batch queries on DuckDB; literal_rows, key_lookup and direct_rows do without it
    transaction       what a transaction wrote and has not logged yet; written_rows, unique_keys and returning make it
    settings          SET and SHOW; parameter_definitions has every parameter, parameter_kinds what it takes
    deadline          statement_timeout
"""
