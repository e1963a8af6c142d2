"""An open database as a backend of buenavista, for its own server.

`risingpy serve` builds its own protocol upon buenavista's server and handler, since it needs what these lack:
passwords, TLS, COPY, cancels, exact types. A program that runs buenavista takes this backend instead of DuckDB's:

    database = risingpy.connect("./data")
    BuenaVistaServer(("127.0.0.1", 5433), BuenaVistaBackend(database)).serve_forever()

Source: buenavista.core, whose three classes are implemented here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from buenavista.core import BVType, Connection, QueryResult, Session

from risingpy.client.statement_result import StatementResult
from risingpy.embedded.database import EmbeddedDatabase
from risingpy.embedded.session import EmbeddedSession
from risingpy.frontend.wire.startup import PARAMETER_STATUS
from risingpy.types import SqlType, TypeKind

# What buenavista sends as SQL shows it. All other types go as text: its own forms of arrays and of intervals of
# months are not PostgreSQL's.
_OWN_TYPES = {
    TypeKind.BOOLEAN: BVType.BOOL,
    TypeKind.SMALLINT: BVType.INTEGER,
    TypeKind.INTEGER: BVType.INTEGER,
    TypeKind.BIGINT: BVType.BIGINT,
    TypeKind.REAL: BVType.FLOAT,
    TypeKind.DOUBLE: BVType.FLOAT,
    TypeKind.NUMERIC: BVType.DECIMAL,
    TypeKind.BYTEA: BVType.BYTES,
    TypeKind.DATE: BVType.DATE,
    TypeKind.TIME: BVType.TIME,
    TypeKind.TIMESTAMP: BVType.TIMESTAMP,
    TypeKind.JSONB: BVType.JSON,
}


class BuenaVistaBackend(Connection):  # type: ignore[misc]  # buenavista has no types
    """A session of the database for each of buenavista's clients."""

    def __init__(self, database: EmbeddedDatabase) -> None:
        super().__init__()
        self._database = database

    def new_session(self) -> BuenaVistaSession:
        return BuenaVistaSession(self._database.session())

    def parameters(self) -> dict[str, str]:
        """What clients are told at their start."""
        return dict(PARAMETER_STATUS)


class BuenaVistaSession(Session):  # type: ignore[misc]
    """Runs a client's statements."""

    def __init__(self, session: EmbeddedSession) -> None:
        super().__init__()
        self._session = session

    def cursor(self) -> EmbeddedSession:
        return self._session

    def close(self) -> None:
        self._session.close()

    def execute_sql(self, sql: str, params: Sequence[object] | None = None) -> BuenaVistaResult:
        return BuenaVistaResult(self._session.sql(sql, params or ()))

    def in_transaction(self) -> bool:
        return self._session.in_transaction

    def load_df_function(self, table: str) -> pa.Table:
        """The rows of a relation, for buenavista's extensions."""
        return self._session.sql(f"SELECT * FROM {table}").arrow()


class BuenaVistaResult(QueryResult):  # type: ignore[misc]
    """A statement's rows, which a portal with a row limit takes in parts."""

    def __init__(self, result: StatementResult) -> None:
        super().__init__()
        self._result = result
        self._rows = iter(_python_or_text(result))

    def has_results(self) -> bool:
        return bool(self._result.fields)

    def column_count(self) -> int:
        return len(self._result.fields)

    def column(self, index: int) -> tuple[str, BVType]:
        field = self._result.fields[index]
        return field.name, _buenavista_type(field.type)

    def rows(self) -> Iterator[list[Any]]:
        """The rows that have not been taken yet."""
        return self._rows

    def status(self) -> str:
        return self._result.tag


def _buenavista_type(type_: SqlType) -> BVType:
    return _OWN_TYPES.get(type_.kind, BVType.TEXT)


def _python_or_text(result: StatementResult) -> Iterator[list[Any]]:
    columns = [
        result.python_values(k) if field.type.kind in _OWN_TYPES else result.texts(k)
        for k, field in enumerate(result.fields)
    ]
    return map(list, zip(*columns, strict=True))
