"""What the relations of a database hold, as texts; and the queries of its materialized views."""

from __future__ import annotations

from tests.meta.conftest import Client

Contents = dict[str, list[list[str | None]]]

_RELATIONS = """
SELECT table_schema, table_name FROM information_schema.tables
WHERE table_schema NOT IN ('pg_catalog', 'information_schema', 'rw_catalog')
  AND table_name NOT IN (SELECT name FROM rw_catalog.rw_sources) ORDER BY 1, 2
"""
_COLUMNS = """
SELECT column_name FROM information_schema.columns WHERE table_schema = '{}' AND table_name = '{}'
ORDER BY ordinal_position
"""
_NOT_REPEATABLE = ("EMIT ON WINDOW CLOSE", "FOR SYSTEM_TIME", "FROM readings")
_VIEWS = "SELECT schemaname, matviewname FROM pg_matviews ORDER BY 1, 2"


def contents(client: Client) -> Contents:
    """The rows of every table and view, each value as text, in the order of these."""
    return {f"{schema}.{name}": _rows(client, schema, name) for schema, name in client.run(_RELATIONS)}


def _rows(client: Client, schema: str, name: str) -> list[list[str | None]]:
    columns = [f'"{column}"::text' for (column,) in client.run(_COLUMNS.format(schema, name))]
    return in_order(client.run(f'SELECT {", ".join(columns)} FROM "{schema}"."{name}"'))


def in_order(rows: list[tuple[object, ...]]) -> list[list[str | None]]:
    """Rows of texts, sorted, NULLs last."""
    texts = [[None if value is None else str(value) for value in row] for row in rows]
    return sorted(texts, key=lambda row: [(value is None, value or "") for value in row])


def queries_of_views(client: Client) -> dict[str, str]:
    """By its name, the query of every materialized view that says what it holds at any time.

    What a temporal join gave, what a window closed with and what a source sent can't be asked for again.
    """
    found = {}
    for schema, name in client.run(_VIEWS):
        ((_, definition),) = client.run(f"SHOW CREATE MATERIALIZED VIEW {schema}.{name}")
        _, _, query = definition.partition(" AS ")
        if not any(text in query for text in _NOT_REPEATABLE):
            found[f"{schema}.{name}"] = query.rstrip(";")
    return found
