"""Very many columns: up to PostgreSQL's limits they work, past them each place refuses with 54011, in its words."""

from __future__ import annotations

import pytest

from risingpy.errors import SqlError
from tests.frontend.session.conftest import Client

TABLE, TARGETS = 1_600, 1_664


def _columns(count: int) -> str:
    return ", ".join(f"c{i} int" for i in range(count))


def _items(count: int) -> str:
    return ", ".join(f"{i} AS x{i}" for i in range(count))


@pytest.fixture
def widest(client: Client) -> Client:
    client.run(f"CREATE TABLE widest ({_columns(TABLE)})")
    return client


def test_the_widest_table_is_written_read_and_viewed(widest: Client) -> None:
    widest.run("CREATE MATERIALIZED VIEW v AS SELECT * FROM widest")
    widest.run(f"INSERT INTO widest VALUES ({', '.join(map(str, range(TABLE)))})")
    widest.run("UPDATE widest SET c1599 = -1")
    expected = [(*range(TABLE - 1), -1)]
    assert widest.run("SELECT * FROM widest") == widest.run("SELECT * FROM v") == expected
    assert widest.run(f"SELECT {_items(TARGETS)}") == [tuple(range(TARGETS))]
    widest.run("ALTER TABLE widest DROP COLUMN c0 CASCADE")
    widest.run("ALTER TABLE widest ADD COLUMN z int")


TOO_MANY = {
    "a table": (f"CREATE TABLE t ({_columns(TABLE + 1)})", "tables can have at most 1600 columns"),
    "a view": (f"CREATE VIEW t AS SELECT {_items(TABLE + 1)}", "tables can have at most 1600 columns"),
    "a materialized view": (
        "CREATE MATERIALIZED VIEW t AS SELECT *, 1 AS x FROM widest",
        "tables can have at most 1600 columns",
    ),
    "ADD COLUMN": ("ALTER TABLE widest ADD COLUMN z int", "tables can have at most 1600 columns"),
    "a source": (
        f"CREATE SOURCE t ({_columns(TABLE + 1)}) WITH (connector = 'datagen')",
        "tables can have at most 1600 columns",
    ),
    "a select list": (f"SELECT {_items(TARGETS + 1)}", "target lists can have at most 1664 entries"),
    "a star": ("SELECT * FROM widest AS a, widest AS b", "target lists can have at most 1664 entries"),
    "a subquery": (
        "SELECT count(*) FROM (SELECT * FROM widest AS a, widest AS b) AS x",
        "target lists can have at most 1664 entries",
    ),
    "VALUES": (f"VALUES ({', '.join(['1'] * (TARGETS + 1))})", "target lists can have at most 1664 entries"),
    "RETURNING": ("INSERT INTO widest (c0) VALUES (1) RETURNING *, *", "target lists can have at most 1664 entries"),
    "ROW": (f"SELECT ROW({', '.join(['1'] * (TARGETS + 1))})", "ROW expressions can have at most 1664 entries"),
    "a row without the word": (
        f"SELECT ({', '.join(['1'] * (TARGETS + 1))})",
        "ROW expressions can have at most 1664 entries",
    ),
}


@pytest.mark.parametrize(("sql", "message"), TOO_MANY.values(), ids=TOO_MANY)
def test_too_many_columns_are_refused(widest: Client, sql: str, message: str) -> None:
    with pytest.raises(SqlError) as raised:
        widest.run(sql)
    assert (raised.value.sqlstate, raised.value.message) == ("54011", message)
    assert widest.run("SELECT count(*) FROM widest") == [(0,)]
