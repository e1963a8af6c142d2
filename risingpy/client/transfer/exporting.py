"""Writes an export of a running server."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import pyarrow.parquet as pq

from risingpy.client.server_database import ServerDatabase
from risingpy.client.server_session import ServerSession
from risingpy.client.transfer.exported import (
    ROWS,
    ExportedStatement,
    TableRows,
    digest_of,
    masked_steps,
    write_note,
    write_schema,
)
from risingpy.errors import SqlError

_FETCHED_ROWS = 1 << 16
_DEFINITIONS = (
    "SELECT part, database_name, kind, name, search_path, definition, rows_query"
    " FROM rw_catalog.rw_definitions ORDER BY position"
)


def export_to(directory: Path, url: str, say: Callable[[str], None]) -> None:
    """Exports all databases of the server at `url`, as they are at one epoch, to a new or empty directory.

    Needs a superuser. Raises SqlError; what it has written then is no export.
    """
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise SqlError(f"{directory} exists, and is not an empty directory")
    with ServerDatabase(url) as database, database.session() as session:
        session.sql("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        found = session.sql(_DEFINITIONS).fetchall()
        (directory / ROWS).mkdir(parents=True, exist_ok=True, mode=0o700)
        directory.chmod(0o700)  # it has everybody's rows
        steps = [_step(*row[:6]) for row in found]
        tables: list[TableRows] = []
        for step, (*_, query) in zip(steps, found, strict=True):
            if query is not None:
                tables.append(_export_rows(session, directory, step, query, len(tables) + 1))
                say(f"{step.database}: {step.name}, {tables[-1].rows:,} rows")
        session.sql("COMMIT")
        write_schema(directory, steps)
        write_note(directory, version("risingpy"), tables, len(steps))
    say(f"{len(steps)} statements, the rows of {len(tables)} tables: {directory}")
    loaded = {(each.database, each.relation) for each in tables}
    others = sorted({each.name for each in steps if each.kind == "table" and (each.database, each.name) not in loaded})
    if others:
        say(f"without their rows, which a source or sink brings again, or which have maps: {', '.join(others)}")
    masked = masked_steps(steps)
    if masked:
        names = ", ".join(f"{each.kind} {each.name}" for each in masked)
        say(f"secrets are not exported: write them into schema.sql, in place of ***, before an import ({names})")


def _step(part: str, database: str, kind: str, name: str, path: list[str], text: str) -> ExportedStatement:
    return ExportedStatement(part, database, kind, name, tuple(path), text)


def _export_rows(
    session: ServerSession, directory: Path, step: ExportedStatement, query: str, number: int
) -> TableRows:
    file = f"{ROWS}/{number:05}.parquet"
    rows = 0
    session.sql(f"DECLARE exported NO SCROLL CURSOR FOR {query}")
    fetched = session.sql(f"FETCH {_FETCHED_ROWS} FROM exported").arrow()
    with pq.ParquetWriter(directory / file, fetched.schema, compression="zstd") as writer:
        while True:
            rows += len(fetched)
            writer.write_table(fetched)
            if len(fetched) < _FETCHED_ROWS:
                break
            fetched = session.sql(f"FETCH {_FETCHED_ROWS} FROM exported").arrow()
    session.sql("CLOSE exported")
    return TableRows(step.database, step.name, file, rows, digest_of(directory / file))
