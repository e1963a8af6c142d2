"""The first rows by a key, counts, least and greatest keys: what is read instead of a table, and which rows come."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest

from risingpy.batch.first_of_key import MOST_OF_A_VNODE
from risingpy.batch.plan import BatchPlan, FirstOfKey, NotedCount
from risingpy.batch.planner import plan_query
from risingpy.errors import SqlError
from risingpy.frontend.results import StartupParameters
from risingpy.frontend.session import open_session
from risingpy.meta.database import Database
from risingpy.optimizer.rules import optimize
from risingpy.types import BIGINT
from tests.batch.conftest import opened
from tests.batch.test_planner import shown
from tests.frontend.binder.bench import bind
from tests.frontend.session.conftest import Client

ROWS = 3000


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    with opened(tmp_path_factory.mktemp("first") / "data") as (database, client):
        for text in (
            "CREATE TABLE t (id INT PRIMARY KEY, g INT, s VARCHAR)",
            "CREATE TABLE pairs (x BIGINT, y INT, z INT, PRIMARY KEY (x, y))",
            "CREATE TABLE days (d TIMESTAMP PRIMARY KEY, n INT)",
            "CREATE TABLE floats (f DOUBLE PRECISION PRIMARY KEY, n INT)",
            "CREATE TABLE none (id INT PRIMARY KEY)",
            "CREATE TABLE late (a INT, id INT PRIMARY KEY)",
            "CREATE TABLE jsons (j JSONB PRIMARY KEY, n INT)",
            "CREATE MATERIALIZED VIEW by_g AS SELECT count(*) AS n, g FROM t GROUP BY g",
        ):
            client.run(text)
        client.run(f"INSERT INTO t SELECT 7 * i - 900, i % 50, i::varchar FROM generate_series(1, {ROWS}) i")
        client.run("INSERT INTO pairs SELECT i / 10 - 20, i, i FROM generate_series(1, 900) i")
        client.run(
            "INSERT INTO days SELECT TIMESTAMP '1999-01-01' + i * INTERVAL '9 hours', i FROM generate_series(1, 500) i"
        )
        client.run("INSERT INTO days VALUES ('-infinity', 0), ('infinity', 0), ('0044-03-15 BC', 0)")
        client.run("INSERT INTO jsons SELECT (i || '.0')::jsonb, i FROM generate_series(-80, 300) i")
        client.run("INSERT INTO jsons VALUES ('[]', 1), ('null', 2), ('{\"a\": 1}', 3), ('[2]', 4), ('\"x\"', 5)")
        long = "'[\"' || repeat('x', 600) || '\", ' || i || ']'"  # keys that agree in what is stored of long ones
        client.run(f"INSERT INTO jsons SELECT ({long})::jsonb, 1000 + i FROM generate_series(1, 30) i")
        client.run("DELETE FROM t WHERE id % 5 = 0")
        client.run("UPDATE t SET g = NULL WHERE g = 7")
        client.run("INSERT INTO late SELECT -i, i FROM generate_series(1, 50) i")
        yield database


@pytest.fixture
def client(database: Database) -> Iterator[Client]:
    client = Client(open_session(database, StartupParameters("root", "dev", {}, process_id=2)))
    yield client
    client.session.close()


def _plan(database: Database, sql: str) -> BatchPlan:
    catalog = database.reads.catalog
    return plan_query(optimize(bind(sql, (), catalog).plan), catalog)


FIRST = (
    *("SELECT * FROM t ORDER BY id LIMIT 3", "SELECT s, id + 1 FROM t ORDER BY id DESC LIMIT 3 OFFSET 5"),
    *(
        "SELECT g FROM t WHERE id > 5 ORDER BY id LIMIT 3",
        "SELECT id FROM t WHERE id >= 5 AND id < 70 ORDER BY 1 LIMIT 3",
    ),
    *("SELECT * FROM t ORDER BY id, g DESC LIMIT 3", "SELECT z FROM pairs ORDER BY x LIMIT 3"),
    *("SELECT max(id) FROM t", "SELECT min(x) FROM pairs WHERE x > 7", "SELECT n FROM days ORDER BY d DESC LIMIT 4"),
    *("SELECT id FROM late ORDER BY id LIMIT 3", "SELECT max(id) FROM late"),
    "SELECT g FROM t WHERE id = (SELECT max(id) FROM t WHERE id < 100)",
    *("SELECT j, n FROM jsons ORDER BY j LIMIT 9", "SELECT n FROM jsons ORDER BY j DESC LIMIT 12 OFFSET 2"),
    "SELECT n FROM jsons WHERE j > '299' ORDER BY j LIMIT 20",
    "SELECT n FROM jsons WHERE j >= '17' AND j < '25.00' ORDER BY j DESC LIMIT 5",
    *("SELECT y FROM pairs ORDER BY x, y LIMIT 3", "SELECT y FROM pairs ORDER BY x DESC, y DESC LIMIT 3"),
    *(
        "SELECT g FROM by_g ORDER BY g DESC LIMIT 3",
        "SELECT g, n FROM by_g ORDER BY g LIMIT 99",
        "SELECT max(g) FROM by_g",
    ),
)
NOT_FIRST = (
    *("SELECT * FROM t ORDER BY g LIMIT 3", "SELECT * FROM t ORDER BY id", "SELECT * FROM t ORDER BY -id LIMIT 3"),
    *("SELECT * FROM t WHERE g = 1 ORDER BY id LIMIT 3", "SELECT * FROM t WHERE id > 5 AND g = 1 ORDER BY id LIMIT 3"),
    *("SELECT * FROM pairs ORDER BY x, y DESC LIMIT 3", "SELECT * FROM floats ORDER BY f LIMIT 3"),
    *("SELECT max(g) FROM t", "SELECT g FROM by_g ORDER BY g DESC NULLS LAST LIMIT 3"),
    *(
        "SELECT max(id) FILTER (WHERE g = 1) FROM t",
        "SELECT min(id), max(id) FROM t",
        "SELECT g, max(id) FROM t GROUP BY g",
    ),
    *("SELECT n FROM jsons ORDER BY j::text LIMIT 3", "SELECT n FROM jsons WHERE n > 3 ORDER BY j LIMIT 3"),
    "SELECT * FROM t ORDER BY id FETCH FIRST 3 ROWS WITH TIES",
)


@pytest.mark.parametrize("sql", FIRST)
def test_first_rows_are_read(sql: str, database: Database) -> None:
    assert any(isinstance(each, FirstOfKey) for each in _plan(database, sql).inputs)


@pytest.mark.parametrize("sql", NOT_FIRST)
def test_other_queries_read_all(sql: str, database: Database) -> None:
    assert not any(isinstance(each, FirstOfKey) for each in _plan(database, sql).inputs)


@pytest.mark.parametrize("sql", FIRST)
def test_the_rows_are_those_of_a_sort(sql: str, client: Client) -> None:
    """With an expression for the table, which nothing looks into, all of its rows are sorted."""
    tables = {
        name: f"(SELECT * FROM {name} OFFSET 0) {name}" for name in ("t", "pairs", "days", "late", "by_g", "jsons")
    }
    hidden = " ".join(tables.get(word, word) for word in sql.replace(")", " )").split())
    found, expected = client.run(sql), client.run(hidden)
    if "pairs ORDER BY x" in sql:  # rows that are equal by x
        found, expected = [(len(found),)], [(len(expected),)]
    assert found == expected


def test_random_bounds(client: Client) -> None:
    random_, ids = Random(3), [int(str(row)) for (row,) in client.run("SELECT id FROM t")]
    for _ in range(60):
        low, span = random_.choice(ids) + random_.randint(-1, 1), random_.choice([1, 50, 5000])
        limit, offset = random_.choice([0, 1, 9, MOST_OF_A_VNODE, MOST_OF_A_VNODE + 1]), random_.choice([0, 3])
        way = random_.choice(["", " DESC"])
        within = sorted((each for each in ids if low <= each < low + span), reverse=bool(way))
        sql = f"SELECT id FROM t WHERE id >= $1 AND id < $2 ORDER BY id{way} LIMIT $3 OFFSET $4"
        found = client.run(sql, low, low + span, limit, offset, oids=(23, 23, BIGINT.oid, BIGINT.oid))
        assert found == [(each,) for each in within[offset : offset + limit]]


INDEXES = ("i1 ON i (a)", "i2 ON i (b DESC)", "i3 ON i (c NULLS FIRST)", "i4 ON i (a DESC, c) INCLUDE (b)")


@pytest.fixture(scope="module")
def indexed(database: Database) -> Database:
    client = Client(open_session(database, StartupParameters("root", "dev", {}, process_id=3)))
    client.run("CREATE TABLE i (id INT PRIMARY KEY, a INT, b TIMESTAMP, c BIGINT NOT NULL, d INT)")
    for index in INDEXES:
        client.run(f"CREATE INDEX {index}")
    client.run("CREATE INDEX part ON i (d) WHERE a > 3")
    client.run(
        "INSERT INTO i SELECT g, nullif(g % 17, 3), nullif(TIMESTAMP '2026-01-01' + g % 40 * INTERVAL '1 day',"
        " TIMESTAMP '2026-01-05'), g % 11 - 5, g FROM generate_series(1, 400) g"
    )
    client.run("FLUSH")
    client.session.close()
    return database


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT a, id FROM i ORDER BY a, id LIMIT 3", "first of all of i1"),
        ("SELECT * FROM i ORDER BY a DESC LIMIT 3", "last of all of i1"),
        ("SELECT * FROM i ORDER BY a DESC NULLS LAST LIMIT 3", None),
        ("SELECT * FROM i ORDER BY b DESC LIMIT 3", "first of all of i2"),
        ("SELECT * FROM i ORDER BY b LIMIT 3", "last of all of i2"),
        ("SELECT * FROM i ORDER BY c LIMIT 3", None),
        ("SELECT * FROM i ORDER BY c NULLS FIRST LIMIT 3", "first of all of i3"),
        ("SELECT a, b, c FROM i ORDER BY a DESC, c LIMIT 3", "first of all of i4"),
        ("SELECT a, c FROM i ORDER BY a, c DESC LIMIT 3", "last of all of i4"),
        ("SELECT a, c FROM i ORDER BY a, c LIMIT 3", None),
        ("SELECT * FROM i ORDER BY d LIMIT 3", None),  # the index is partial
        ("SELECT max(a), 1 AS one FROM i", "last of all of i1"),
        ("SELECT min(b) FROM i", "last of all of i2"),
        ("SELECT max(c) FROM i", "last of all of i3"),
        ("SELECT * FROM i WHERE a > 5 ORDER BY a LIMIT 3", "first of range of i1: gt"),
        ("SELECT * FROM i WHERE a > 5 AND d > 3 ORDER BY a LIMIT 3", None),
    ],
)
def test_an_index_has_the_first_rows(indexed: Database, sql: str, expected: str | None) -> None:
    (rows,) = _plan(indexed, sql).inputs
    assert (shown(rows) if isinstance(rows, FirstOfKey) else None) == expected


@pytest.mark.parametrize("seed", range(3))
def test_random_orders(indexed: Database, client: Client, seed: int) -> None:
    """With an expression for the table all rows are sorted. Rows that are equal by the keys may come in any order."""
    chance, found = Random(seed), 0
    for _ in range(80):
        columns = chance.sample(("a", "b", "c", "id", "d"), chance.choice((1, 1, 2, 3)))
        ways = [chance.choice(("", " DESC", " NULLS FIRST", " DESC NULLS LAST")) for _ in columns]
        order = ", ".join(column + way for column, way in zip(columns, ways, strict=True))
        bound = "TIMESTAMP '2026-01-09'" if columns[0] == "b" else chance.randrange(12)
        where = f" WHERE {columns[0]} {chance.choice(('>', '<='))} {bound}" if chance.random() < 0.4 else ""
        rest = f"{where} ORDER BY {order} LIMIT {chance.choice((1, 5, 60))} OFFSET {chance.choice((0, 3))}"
        sql = f"SELECT {', '.join(columns)} FROM i{rest}"
        assert client.run(sql) == client.run(f"SELECT {', '.join(columns)} FROM (SELECT * FROM i OFFSET 0) i{rest}"), (
            sql
        )
        found += any(isinstance(each, FirstOfKey) for each in _plan(indexed, sql).inputs)
    assert found >= 15


def test_the_least_value_of_an_index_is_no_null(indexed: Database, client: Client) -> None:
    assert client.run("SELECT min(a) FROM i") == client.run("SELECT min(a + 0) FROM i")
    assert client.run("SELECT max(b) FROM i") == client.run("SELECT max(b + INTERVAL '0') FROM i")
    client.run("BEGIN")
    client.run("INSERT INTO i VALUES (1000, -7, NULL, 3, 1)")
    assert client.run("SELECT min(a) FROM i") == [(-7,)]
    assert client.run("SELECT id FROM i ORDER BY a LIMIT 1") == [(1000,)]
    client.run("ROLLBACK")


def test_limits_that_are_null_or_negative(client: Client) -> None:
    sql = "SELECT id FROM t ORDER BY id LIMIT $1"
    assert len(client.run(sql, None, oids=(BIGINT.oid,))) == len(client.run("SELECT id FROM t"))
    with pytest.raises(SqlError) as raised:
        client.run(sql, -1, oids=(BIGINT.oid,))
    assert raised.value.sqlstate == "2201W"
    assert client.run("SELECT id FROM t WHERE id > $1 ORDER BY id LIMIT 3", None, oids=(23,)) == []


def test_counts(client: Client, database: Database) -> None:
    assert isinstance(_plan(database, "SELECT count(*) AS n FROM t").answer, NotedCount)
    for sql in ("SELECT count(g) FROM t", "SELECT count(*) FROM t WHERE id > 0", "SELECT count(*) + 1 FROM t"):
        assert not isinstance(_plan(database, sql).answer, NotedCount)
    for relation in ("t", "pairs", "by_g", "none"):
        assert client.run(f"SELECT count(*) FROM {relation}") == [(len(client.run(f"SELECT 1 FROM {relation}")),)]
    assert client.run("SELECT max(id) FROM none") == [(None,)]
    assert client.run("SELECT id FROM none ORDER BY id LIMIT 1") == []


def test_a_transaction_sees_its_own_rows(client: Client) -> None:
    [(before,)] = client.run("SELECT count(*) FROM t")
    client.run("BEGIN")
    client.run("INSERT INTO t VALUES (-5000, 0, ''), (900000, 0, '')")
    client.run("DELETE FROM t WHERE id IN (SELECT id FROM t ORDER BY id LIMIT 2 OFFSET 1)")
    assert client.run("SELECT count(*) FROM t") == [(before,)]
    assert client.run("SELECT min(id), max(id) FROM t") == [(-5000, 900000)]
    assert client.run("SELECT max(id) FROM t") == client.run("SELECT id FROM t ORDER BY id DESC LIMIT 1") == [(900000,)]
    client.run("ROLLBACK")
    assert client.run("SELECT count(*) FROM t") == [(before,)]


def test_explain_tells_of_it(client: Client) -> None:
    lines = [line for (line,) in client.run("EXPLAIN SELECT * FROM t WHERE id > 9 ORDER BY id DESC LIMIT 3 OFFSET 2")]
    assert any("id > 9" in str(line) and "last 3 + 2 by id" in str(line) for line in lines)
