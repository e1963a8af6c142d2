"""RisingPy, a streaming database: SQL over PostgreSQL's wire protocol, and views that are always up to date.

In: clients' bytes, at `server.py`. Out: answers, and a data directory. `cli.py` is the command; `config.py` its
settings.

    embedded      the database inside of a Python program
    client        what a Python program sees, `risingpy.connect`, and the client of a server
    frontend      the wire protocol, sessions, parser, binder, a file per statement, system catalogs
    batch         plans and runs queries
    meta          the catalog, epochs, the log of writes, schema changes, recovery
    optimizer     rules for logical plans; stream plans, stream keys, fragments; EXPLAIN
    executors     compute an epoch's changes, operator by operator; the Spark driver
    functions     SQL functions and aggregates, and the evaluation of expressions
    plan          plans, expressions and the catalog, as data
    connectors    external sources
    storage       key and row encodings, LMDB stores, state tables, the write-ahead log
    types         SQL types: Arrow types, text and binary forms
    errors        the errors that clients see
    sqllogictest  suites of SQL with their answers, and the runner; a client like any other
    demo          `risingpy demo`

Imports go downwards in this list (docs/architecture.md; `make lint` holds it).
"""

from importlib import import_module
from typing import Any

__all__ = ["SqlError", "connect"]
_PLACES = {"SqlError": "risingpy.errors", "connect": "risingpy.client.connecting"}


def __getattr__(name: str) -> Any:
    """`risingpy.connect` and `risingpy.SqlError`, loaded when they are asked for.

    Every module of the database imports this one first: to import others here would be a circle, and would make
    `risingpy --help` wait for DuckDB and Arrow.
    """
    if name not in _PLACES:
        raise AttributeError(f"module 'risingpy' has no attribute {name!r}")
    return getattr(import_module(_PLACES[name]), name)
