"""CREATE UNIQUE INDEX on materialized views: accepted where the query keeps the keys apart."""

from __future__ import annotations

import re

import pytest

from risingpy.errors import SqlError
from tests.frontend.session.conftest import Client

SETUP = (
    "CREATE TABLE t (id int PRIMARY KEY, a int, b text)",
    "CREATE TABLE keyless (a int)",
    "INSERT INTO t VALUES (1, 1, 'x'), (2, 1, 'y'), (3, 2, NULL)",
    "CREATE MATERIALIZED VIEW grouped AS SELECT a, b, count(*) AS n FROM t GROUP BY a, b",
    "CREATE MATERIALIZED VIEW passed AS SELECT b, id FROM t WHERE a > 0",
    "CREATE MATERIALIZED VIEW hiding AS SELECT b FROM t",
    "CREATE MATERIALIZED VIEW single AS SELECT count(*) AS n FROM t",
    "CREATE MATERIALIZED VIEW rows AS SELECT a FROM keyless",
)


@pytest.fixture
def views(client: Client) -> Client:
    for statement in SETUP:
        client.run(statement)
    return client


@pytest.mark.parametrize(
    "on",
    [
        "grouped (b, a)",
        "grouped (a, b, n)",
        "grouped (a DESC, b) NULLS NOT DISTINCT",
        "passed (id)",
        "single (n)",
        "passed (id, lower(b)) WHERE b IS NOT NULL",
    ],
)
def test_accepted(views: Client, on: str) -> None:
    views.run(f"CREATE UNIQUE INDEX i ON {on}")
    assert views.run("SELECT indisunique, indisvalid FROM pg_index WHERE indexrelid = 'i'::regclass") == [(True, True)]
    views.run("INSERT INTO t VALUES (4, 2, NULL), (5, 9, 'z')")
    views.run("UPDATE t SET a = 3 WHERE id = 1")
    views.run("DELETE FROM t WHERE id = 2")
    views.run("FLUSH")
    assert views.run("SELECT count(*) FROM grouped") == [(3,)]
    name = on.split()[0]
    rows = "SELECT count(*) FROM {}" + (" WHERE b IS NOT NULL" if "WHERE" in on else "")
    assert views.run(rows.format("i").removesuffix(" WHERE b IS NOT NULL")) == views.run(rows.format(name))


@pytest.mark.parametrize(
    ("on", "hint"),
    [
        ("grouped (a)", r"told apart by \(a, b\): an index that has these"),
        ("grouped (a, lower(b))", r"told apart by \(a, b\): an index that has these"),
        ("passed (b)", r"told apart by \(id\)"),
        ("hiding (b)", "columns that it does not show"),
        ("rows (a)", "columns that it does not show"),
    ],
)
def test_refused(views: Client, on: str, hint: str) -> None:
    with pytest.raises(SqlError, match="whose keys its query does not keep apart") as refused:
        views.run(f"CREATE UNIQUE INDEX i ON {on}")
    assert refused.value.sqlstate == "0A000"
    assert refused.value.hint is not None
    assert re.search(hint, refused.value.hint)
    assert views.run("SELECT count(*) FROM pg_class WHERE relname = 'i'") == [(0,)]


def test_a_view_that_is_built_anew_keeps_it(views: Client) -> None:
    views.run("CREATE TABLE k (a int, b int NOT NULL)")
    views.run("INSERT INTO k VALUES (1, 1), (1, 2)")
    views.run("CREATE MATERIALIZED VIEW g AS SELECT a, sum(b) AS s FROM k GROUP BY a")
    views.run("CREATE UNIQUE INDEX gi ON g (a) WHERE s > 1")
    views.run("ALTER TABLE k ADD PRIMARY KEY (b)")
    assert views.run("SELECT a, s FROM gi") == [(1, 3)]
    assert views.run("SELECT indisunique FROM pg_index WHERE indexrelid = 'gi'::regclass") == [(True,)]
    with pytest.raises(SqlError, match="other objects depend on it"):
        views.run("CREATE OR REPLACE MATERIALIZED VIEW g AS SELECT a, b::bigint AS s FROM k")
