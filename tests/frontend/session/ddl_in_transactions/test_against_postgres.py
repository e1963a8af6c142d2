"""Random transactions that change the schema give what they give in PostgreSQL: errors, catalogs and rows.

A second session of both looks on: what is not committed must not be there for it. `RISINGPY_DDL_TRANSACTIONS` says how
many transactions there are, `RISINGPY_DDL_SEED` which.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from random import Random
from typing import Any

import psycopg

from risingpy.errors import SqlError
from tests.frontend.session.ddl_in_transactions.random_statements import CATALOG, CLEAN, TABLES, Statements
from tests.postgres_oracle import PostgresOracle

TRANSACTIONS = int(os.environ.get("RISINGPY_DDL_TRANSACTIONS", "15"))
SEED = int(os.environ.get("RISINGPY_DDL_SEED", "2"))
_ROUND = 25  # transactions, after which all begins anew
Answer = tuple[list[Any] | None, str | None]
"""The rows, or the SQLSTATE."""


def test_transactions_that_change_the_schema(connect: Callable[[], Any], postgres_oracle: PostgresOracle) -> None:
    statements, random = Statements(Random(SEED)), Random(SEED)
    ours, other = connect(), connect()
    with postgres_oracle.connect() as theirs, postgres_oracle.connect() as their_other:
        for number in range(TRANSACTIONS):
            if number % _ROUND == 0:
                for statement in CLEAN:
                    assert _ours(ours, statement)[1] == _theirs(theirs, statement)[1]
            history: list[str] = []
            for statement in statements.transaction():
                history.append(statement)
                answer = _ours(ours, statement)
                assert answer[1] == _theirs(theirs, statement)[1], history
                ends = statement in ("COMMIT", "ROLLBACK")
                if ends or (answer[1] is None and random.random() < 0.2):
                    for query in CATALOG:
                        assert _ours(ours, query) == _theirs(theirs, query), (history, query)
                        assert _ours(other, query) == _theirs(their_other, query), (history, query)
                    for query in _queries_of_rows(theirs):
                        assert _ours(ours, query) == _theirs(theirs, query), (history, query)


def _queries_of_rows(postgres: psycopg.Connection[Any]) -> list[str]:
    tables = _theirs(postgres, TABLES)[0] or []
    columns = {name: (_theirs(postgres, CATALOG[1])[0] or []) for (name,) in tables}
    return [
        f"SELECT {', '.join(row[2] for row in found if f'{row[0]}.{row[1]}' == name) or '1'} FROM {name}"
        for name, found in columns.items()
    ]


def _ours(client: Any, statement: str) -> Answer:
    try:
        return sorted(client.run(statement), key=str), None
    except SqlError as error:
        return None, _same(error.sqlstate)


def _theirs(connection: psycopg.Connection[Any], statement: str) -> Answer:
    try:
        cursor = connection.execute(statement)
        return sorted(cursor.fetchall(), key=str) if cursor.description else [], None
    except psycopg.Error as error:
        return None, _same(error.sqlstate)


def _same(sqlstate: str | None) -> str | None:
    """A relation in a schema that is not there: PostgreSQL says in some statements that the schema is missing."""
    return "42P01" if sqlstate == "3F000" else sqlstate
