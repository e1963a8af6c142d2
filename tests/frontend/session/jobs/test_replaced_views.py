"""CREATE OR REPLACE MATERIALIZED VIEW and SWAP WITH: readers see the one or the other, whole, and never nothing."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

import pytest

from risingpy.errors import SqlError
from tests.frontend.session.conftest import Client

Connect = Callable[[], Client]
QUERY = "SELECT v, count(*) AS n, sum(id) AS s FROM t WHERE v > 1 GROUP BY v"
READERS, SWAPS, REPLACEMENTS = 8, int(os.environ.get("RISINGPY_SWAPS", "40")), 10


@pytest.fixture
def views(client: Client) -> Client:
    client.run("CREATE TABLE t (id INT PRIMARY KEY, v INT)")
    client.run("INSERT INTO t SELECT i, i % 5 FROM generate_series(1, 200) i")
    client.run("CREATE MATERIALIZED VIEW m AS SELECT v, count(*) AS n FROM t GROUP BY v")
    return client


def ids(client: Client) -> list[tuple[object, ...]]:
    return client.run("SELECT id, owner FROM rw_catalog.rw_materialized_views WHERE name = 'm'")


def test_the_new_view_takes_the_place_with_rights_and_follows(views: Client) -> None:
    views.run("CREATE USER reader; GRANT SELECT ON m TO reader")
    before = ids(views)
    views.run(f"CREATE OR REPLACE MATERIALIZED VIEW m AS {QUERY}")
    assert views.tag == "CREATE MATERIALIZED VIEW"
    assert ids(views) != before and ids(views)[0][1] == before[0][1]
    views.run("INSERT INTO t VALUES (1000, 4), (1001, 9); DELETE FROM t WHERE id = 3; UPDATE t SET v = 0 WHERE id = 4")
    assert sorted(views.run("SET ROLE reader; SELECT * FROM m")) == sorted(views.run(f"RESET ROLE; {QUERY}"))
    assert len(views.run("SHOW MATERIALIZED VIEWS")) == 1
    [(_, text)] = views.run("SHOW CREATE MATERIALIZED VIEW m")
    assert "sum(id) AS s" in str(text)
    views.run("DROP MATERIALIZED VIEW m")


def test_or_replace_of_nothing_creates(views: Client) -> None:
    views.run("CREATE OR REPLACE MATERIALIZED VIEW fresh AS SELECT 1 AS a")
    assert views.run("SELECT * FROM fresh") == [(1,)]


@pytest.mark.parametrize(
    ("sql", "state", "message"),
    [
        ("m AS SELECT v FROM t", "42P16", "cannot drop columns from view"),
        ("m AS SELECT v AS w, 1::bigint AS n FROM t", "42P16", 'cannot change name of view column "v" to "w"'),
        (
            "m AS SELECT v::bigint AS v, 1::bigint AS n FROM t",
            "42P16",
            'cannot change data type of view column "v" from integer to bigint',
        ),
        ("t AS SELECT 1 AS a", "42809", '"t" is not a materialized view'),
        ("m AS SELECT * FROM m", "42P17", 'materialized view "m" cannot be replaced by a query that reads it'),
        ("IF NOT EXISTS m AS SELECT 1", "42601", ""),
        ("m AS SELECT nope FROM t", "42703", 'column "nope" does not exist'),
    ],
)
def test_mistakes_leave_the_view(views: Client, sql: str, state: str, message: str) -> None:
    before = ids(views)
    with pytest.raises(SqlError) as caught:
        views.run(f"CREATE OR REPLACE MATERIALIZED VIEW {sql}")
    assert (caught.value.sqlstate, message in caught.value.message) == (state, True)
    assert ids(views) == before and len(views.run("SELECT * FROM m")) == 5


def test_a_view_that_others_read_is_not_replaced(views: Client) -> None:
    views.run("CREATE MATERIALIZED VIEW above AS SELECT sum(n) AS total FROM m")
    with pytest.raises(SqlError) as caught:
        views.run("CREATE OR REPLACE MATERIALIZED VIEW m AS SELECT v, count(*) AS n FROM t GROUP BY v")
    assert caught.value.sqlstate == "2BP01"
    assert caught.value.detail == "materialized view above depends on materialized view m"
    assert views.run("SELECT * FROM above") == [(200,)]


def test_one_that_is_cancelled_leaves_the_old_view(views: Client, connect: Connect) -> None:
    slow = connect()
    slow.run("SET backfill_rate_limit = 0")
    errors: list[SqlError] = []

    def replace() -> None:
        try:
            slow.run("CREATE OR REPLACE MATERIALIZED VIEW m AS SELECT v, count(*) AS n FROM t GROUP BY v")
        except SqlError as error:
            errors.append(error)

    before = ids(views)
    thread = threading.Thread(target=replace)
    thread.start()
    while not (jobs := views.run("SHOW JOBS")):
        pass
    assert len(views.run("SELECT * FROM m")) == 5
    views.run(f"CANCEL JOBS {jobs[0][0]}")
    thread.join(60)
    assert [error.sqlstate for error in errors] == ["57014"]
    assert ids(views) == before and len(views.run("SELECT * FROM m")) == 5


def test_readers_see_no_gap_and_no_mixture(views: Client, connect: Connect) -> None:
    """Each row of a view says which version it is of: a reader finds rows of one version, all of them."""
    query = "SELECT {version} AS version, id FROM t"
    views.run(f"CREATE MATERIALIZED VIEW a AS {query.format(version=1)}")
    views.run(f"CREATE MATERIALIZED VIEW b AS {query.format(version=2)}")
    failures: list[str] = []
    seen: set[object] = set()
    done = threading.Event()

    def read(client: Client) -> None:
        while not done.is_set():
            try:
                rows = client.run("SELECT version, count(*) FROM a GROUP BY version")
            except SqlError as error:
                failures.append(f"{error.sqlstate}: {error.message}")
                return
            if len(rows) != 1 or rows[0][1] != 200:
                failures.append(str(rows))
                return
            seen.add(rows[0][0])

    readers = [threading.Thread(target=read, args=(connect(),)) for _ in range(READERS)]
    for reader in readers:
        reader.start()
    for _ in range(SWAPS):
        views.run("ALTER MATERIALIZED VIEW a SWAP WITH b")
    for version in range(3, 3 + REPLACEMENTS):
        views.run(f"CREATE OR REPLACE MATERIALIZED VIEW a AS {query.format(version=version)}")
    done.set()
    for reader in readers:
        reader.join(60)
    assert failures == []
    assert len(seen) > 2
