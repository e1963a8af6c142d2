"""ALTER TABLE … ADD PRIMARY KEY, with which `pgbench -i` and restored dumps end."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from risingpy.errors import FeatureNotSupported, QueryCanceled, SqlError, unchecked
from risingpy.frontend.results import StartupParameters
from risingpy.frontend.session import open_session
from risingpy.frontend.statements.jobs.new_view import anew
from risingpy.meta.database import Database
from risingpy.meta.epochs.in_process_runner import InProcessRunner
from risingpy.meta.schema.primary_key import NewKey, add_copy
from risingpy.plan.catalog import Table
from tests.frontend.session.conftest import Client

Connect = Callable[[], Client]


@pytest.fixture
def bids(client: Client) -> Client:
    """A table without a key, whose columns have been altered, with rows of before and after."""
    client.run("CREATE TABLE bids (gone int, id bigint, who varchar(5) DEFAULT 'x')")
    client.run("INSERT INTO bids SELECT i, i, 'w' || i % 7 FROM generate_series(1, 1000) AS g (i)")
    client.run("ALTER TABLE bids ADD COLUMN price int DEFAULT 5")
    client.run("ALTER TABLE bids DROP COLUMN gone")
    client.run("INSERT INTO bids VALUES (1001, NULL, NULL)")
    return client


ROWS = "SELECT id, who, price FROM bids ORDER BY id"


def test_rows_defaults_and_plain_views_stay(bids: Client) -> None:
    bids.run("CREATE VIEW names AS SELECT who, id FROM bids")
    bids.run("CREATE VIEW above AS SELECT id + 1 AS next, current_user AS me FROM names")
    before, seen = bids.run(ROWS), bids.run("SELECT next, me FROM above ORDER BY 1")
    bids.run("ALTER TABLE ONLY bids ADD CONSTRAINT bids_pkey PRIMARY KEY (id)")
    assert bids.run(ROWS) == before
    assert bids.run("SELECT next, me FROM above ORDER BY 1") == seen
    bids.run("INSERT INTO bids (id) VALUES (2000)")
    assert bids.run("SELECT * FROM bids WHERE id = 2000") == [(2000, "x", 5)]
    assert bids.run("SELECT * FROM names WHERE id = 2000") == [("x", 2000)]
    with pytest.raises(SqlError) as raised:
        bids.run("DROP TABLE bids")
    assert "view names depends on table bids" in str(raised.value.detail)


def test_it_is_a_key_from_then_on(bids: Client) -> None:
    bids.run("ALTER TABLE bids ADD PRIMARY KEY (id)")
    bids.run("INSERT INTO bids VALUES (7, 'later', 1)")  # the later write of a key wins, as in every table with a key
    assert bids.run("SELECT * FROM bids WHERE id = 7") == [(7, "later", 1)]
    with pytest.raises(SqlError) as twice:
        bids.run("UPDATE bids SET id = 8 WHERE id = 7")
    assert twice.value.sqlstate == "23505"
    with pytest.raises(SqlError) as null:
        bids.run("INSERT INTO bids VALUES (NULL, 'x', 1)")
    assert null.value.sqlstate == "23502"
    bids.run("CREATE MATERIALIZED VIEW totals AS SELECT who, count(*) AS n FROM bids GROUP BY who")
    bids.run("DELETE FROM bids WHERE id <= 7")
    assert sum(n for _, n in bids.run("SELECT * FROM totals")) == 994  # type: ignore[misc]
    shown = bids.run("SELECT conname, contype, pg_get_constraintdef(oid) FROM pg_constraint")
    assert shown == [("bids_pkey", "p", "PRIMARY KEY (id)")]
    assert "PRIMARY KEY (id)" in str(bids.run("SHOW CREATE TABLE bids"))


def test_an_empty_table_and_a_key_of_several_columns(client: Client) -> None:
    client.run("CREATE TABLE pairs (a int, b varchar, c int)")
    client.run("ALTER TABLE pairs ADD PRIMARY KEY (b, a)")
    client.run("INSERT INTO pairs VALUES (1, 'x', 1), (2, 'x', 2), (1, 'x', 3)")
    assert client.run("SELECT * FROM pairs ORDER BY a") == [(1, "x", 3), (2, "x", 2)]


@pytest.mark.parametrize(
    ("statement", "sqlstate", "message"),
    [
        ("ALTER TABLE bids ADD PRIMARY KEY (who)", "23502", 'column "who" of relation "bids" contains null values'),
        ("ALTER TABLE bids ADD PRIMARY KEY (price)", "23502", 'column "price" of relation "bids" contains null values'),
        ("ALTER TABLE bids ADD PRIMARY KEY (no)", "42703", 'column "no" of relation "bids" does not exist'),
        ("ALTER TABLE bids ADD PRIMARY KEY (id, id)", "42701", 'column "id" appears twice in primary key constraint'),
        ("ALTER TABLE nosuch ADD PRIMARY KEY (id)", "42P01", 'relation "nosuch" does not exist'),
        ("ALTER TABLE bids ADD PRIMARY KEY (who), ADD x int", "23502", 'column "who" of relation "bids" contains'),
        (
            "ALTER TABLE bids ADD x int, ADD PRIMARY KEY (id, y)",
            "42703",
            'column "y" of relation "bids" does not exist',
        ),
    ],
)
def test_refused_and_nothing_has_changed(bids: Client, statement: str, sqlstate: str, message: str) -> None:
    before = bids.run(ROWS)
    with pytest.raises(SqlError) as raised:
        bids.run(statement)
    assert raised.value.sqlstate == sqlstate and message in raised.value.message
    assert bids.run(ROWS) == before
    bids.run("ALTER TABLE bids ADD PRIMARY KEY (id)")
    with pytest.raises(SqlError, match='multiple primary keys for table "bids" are not allowed'):
        bids.run("ALTER TABLE bids ADD PRIMARY KEY (id)")


def test_duplicates_are_named(bids: Client) -> None:
    bids.run("INSERT INTO bids VALUES (5, 'again', 1)")
    with pytest.raises(SqlError) as raised:
        bids.run("ALTER TABLE bids ADD PRIMARY KEY (id)")
    told = (raised.value.sqlstate, raised.value.message, raised.value.detail)
    assert told == ("23505", 'could not create unique index "bids_pkey"', "Key (id)=(5) is duplicated.")
    assert bids.run("SELECT count(*) FROM bids") == [(1002,)]


@pytest.mark.parametrize("block", [False, True])
def test_indexes_that_are_there_before_are_there_after(bids: Client, block: bool) -> None:
    """As pg_dump writes them: bids_id_who_key comes before bids_pkey."""
    bids.run("ALTER TABLE bids ADD CONSTRAINT bids_id_who_key UNIQUE (id, who)")
    bids.run("CREATE INDEX by_price ON bids (price DESC) INCLUDE (who)")
    bids.run("CREATE UNIQUE INDEX by_word ON bids (lower(who || id))")
    bids.run("COMMENT ON INDEX by_price IS 'told'")
    listed = "SELECT indexname, indexdef FROM pg_indexes WHERE indexname <> 'bids_pkey' ORDER BY 1"
    constraints = "SELECT conname, contype FROM pg_constraint WHERE conrelid = 'bids'::regclass AND contype = 'u'"
    before = bids.run(listed), bids.run(constraints), bids.run(ROWS)
    if block:
        bids.run("BEGIN")
    bids.run("ALTER TABLE bids ADD PRIMARY KEY (id)")
    assert (bids.run(listed), bids.run(constraints), bids.run(ROWS)) == before
    if block:
        bids.run("COMMIT")
    assert (bids.run(listed), bids.run(constraints), bids.run(ROWS)) == before
    assert bids.run("SELECT obj_description('by_price'::regclass)") == [("told",)]
    assert "by_price" in str(bids.run("EXPLAIN SELECT who FROM bids WHERE price = 5"))
    assert bids.run("SELECT count(*) FROM bids WHERE price = 5") == [(1000,)]
    bids.run("INSERT INTO bids VALUES (2000, 'W1', 7)")
    assert bids.run("SELECT id FROM bids WHERE price = 7") == [(2000,)]
    with pytest.raises(SqlError) as raised:
        bids.run("INSERT INTO bids VALUES (3000, 'W12', 1), (23000, 'w1', 7)")  # w123000, twice
    assert raised.value.sqlstate == "23505"
    bids.run("DROP INDEX by_word, by_price")
    bids.run("ALTER TABLE bids DROP CONSTRAINT bids_id_who_key")


VIEWS = """
CREATE VIEW w AS SELECT who, id, price FROM bids WHERE id % 2 = 0;
CREATE MATERIALIZED VIEW totals AS SELECT who, count(*) AS n, max(price) AS top FROM w GROUP BY who;
CREATE MATERIALIZED VIEW copied AS SELECT * FROM bids;
CREATE INDEX by_top ON totals (top) INCLUDE (n);
CREATE VIEW above AS SELECT who, n + 1 AS more FROM totals;
CREATE MATERIALIZED VIEW joined (a, b) AS SELECT c.id, a.more FROM copied c JOIN above a ON a.who = c.who;
CREATE VIEW mine AS SELECT a, current_user AS me FROM joined;
COMMENT ON MATERIALIZED VIEW totals IS 'told';
COMMENT ON COLUMN totals.n IS 'counted';
CREATE ROLE reader_of_totals;
GRANT SELECT (n) ON totals TO reader_of_totals
"""
SEEN = (
    "SELECT * FROM totals",
    "SELECT * FROM copied",
    "SELECT * FROM joined",
    "SELECT * FROM above",
    "SELECT * FROM mine",
    "SELECT tablename, indexname, indexdef FROM pg_indexes WHERE indexname <> 'bids_pkey'",
    "SELECT obj_description('totals'::regclass), col_description('totals'::regclass, 2)",
    "SELECT has_column_privilege('reader_of_totals', 'totals', 'n', 'SELECT'),"
    " has_column_privilege('reader_of_totals', 'totals', 'who', 'SELECT')",
    "SELECT relname, relkind FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relname <> 'bids_pkey'",
    "SELECT viewname, definition FROM pg_views WHERE schemaname = 'public'",
    "SELECT matviewname, definition FROM pg_matviews",
)


def _seen(client: Client) -> list[list[str]]:
    return [sorted(map(str, client.run(each))) for each in SEEN]


@pytest.mark.parametrize("block", [False, True])
def test_materialized_views_are_built_anew(bids: Client, block: bool) -> None:
    """With what stands over them, as a dump of a table whose key comes after the views that read it."""
    for statement in VIEWS.split(";"):
        bids.run(statement)
    before = _seen(bids)
    if block:
        bids.run("BEGIN")
    bids.run("ALTER TABLE bids ADD PRIMARY KEY (id)")
    if block:
        bids.run("COMMIT")
    assert _seen(bids) == before
    bids.run("INSERT INTO bids VALUES (2, 'again', 9), (3000, 'w1', 7)")  # the first is an earlier row's key
    bids.run("DELETE FROM bids WHERE id < 100 AND id > 50")
    bids.run("UPDATE bids SET price = 70 WHERE who = 'w4'")
    assert bids.run("SELECT * FROM totals ORDER BY who") == bids.run(
        "SELECT who, count(*), max(price) FROM bids WHERE id % 2 = 0 GROUP BY who ORDER BY who"
    )
    assert bids.run("SELECT * FROM joined ORDER BY 1") == bids.run(
        "SELECT id, n + 1 FROM bids JOIN totals ON totals.who = bids.who ORDER BY 1"
    )
    with pytest.raises(SqlError) as raised:
        bids.run("DROP TABLE bids")
    assert "materialized view totals depends on view w" in str(raised.value.detail)
    bids.run("DROP TABLE bids CASCADE")
    assert bids.run("SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace") == [(0,)]


def test_a_failed_view_leaves_all_as_it_was(bids: Client) -> None:
    bids.run("CREATE MATERIALIZED VIEW totals AS SELECT who, count(*) AS n FROM bids GROUP BY who")
    bids.run("SET TIME ZONE 'Asia/Tokyo'")
    bids.run("CREATE MATERIALIZED VIEW late AS SELECT id FROM bids WHERE timestamptz '2024-01-01 00:00' < now()")
    with pytest.raises(FeatureNotSupported, match='"late" anew: its query depends on the session'):
        bids.run("ALTER TABLE bids ADD PRIMARY KEY (id)")
    assert bids.run("SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace") == [(3,)]
    bids.run("INSERT INTO bids VALUES (1, 'w1', 1)")
    assert bids.run("SELECT n FROM totals WHERE who = 'w1'") == [(144,)]


def test_readers_with_a_memory_of_rows_are_named(bids: Client) -> None:
    bids.run("CREATE MATERIALIZED VIEW kept AS SELECT id FROM bids")
    bids.run("CREATE SUBSCRIPTION reader FROM kept WITH (retention = '1 hour')")
    with pytest.raises(FeatureNotSupported, match='"reader" reads its rows') as raised:
        bids.run("ALTER TABLE bids ADD PRIMARY KEY (id)")
    assert raised.value.hint is not None and "create it again" in raised.value.hint


def test_a_failure_on_the_way_leaves_the_table_as_it_was(bids: Client, database: Database) -> None:
    table = _table(database)
    change = NewKey(table, (_id_of(table, "id"),), "", anew(unchecked))

    def fill(copy: Table) -> int:
        assert bids.run("SELECT count(*) FROM bids") == [(1001,)]
        raise QueryCanceled("canceled")

    with pytest.raises(QueryCanceled):
        database.ddl.add_primary_key(change, fill)
    assert _table(database) == table
    assert len(database.reads.catalog.relations) == 1
    assert bids.run("SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace") == [(1,)]


def test_a_server_that_stops_on_the_way_has_the_table_as_it_was(tmp_path: Path) -> None:
    directory = tmp_path / "stopped"
    database = Database(directory, parallelism=2)
    database.start(InProcessRunner(database.data_dir))
    client = Client(open_session(database, StartupParameters("root", "dev", {}, process_id=1)))
    client.run("CREATE TABLE bids (id int, v int)")
    client.run("INSERT INTO bids VALUES (1, 2), (3, 4)")
    table = _table(database)
    database.ddl.change(lambda state: add_copy(state, NewKey(table, (_id_of(table, "id"),), "", anew(unchecked)))[0])
    client.session.close()
    database.close()
    again = Database(directory, parallelism=2)
    again.start(InProcessRunner(again.data_dir))
    client = Client(open_session(again, StartupParameters("root", "dev", {}, process_id=1)))
    try:
        assert list(again.reads.catalog.relations) == [table.relation_id]
        client.run("ALTER TABLE bids ADD PRIMARY KEY (id)")
        client.run("INSERT INTO bids VALUES (1, 9)")
        assert client.run("SELECT * FROM bids ORDER BY id") == [(1, 9), (3, 4)]
    finally:
        client.session.close()
        again.close()


def test_other_sessions_write_before_it_or_after_it(bids: Client, connect: Connect) -> None:
    """Inserts that wait for the table go into the new one; none is lost."""
    other, written = connect(), []
    stop = threading.Event()

    def write() -> None:
        number = 10_000
        while not stop.is_set():
            number += 1
            other.run(f"INSERT INTO bids VALUES ({number}, 'o', 1)")
            written.append(number)

    writer = threading.Thread(target=write)
    writer.start()
    while len(written) < 3:
        stop.wait(0.01)
    bids.run("ALTER TABLE bids ADD PRIMARY KEY (id)")
    reached = len(written)
    while writer.is_alive() and len(written) < reached + 3:
        stop.wait(0.01)
    stop.set()
    writer.join()
    assert len(written) >= reached + 3
    assert bids.run("SELECT count(*) FROM bids WHERE id > 10000") == [(len(written),)]


def _table(database: Database) -> Table:
    (table,) = (each for each in database.reads.catalog.relations.values() if isinstance(each, Table))
    return table


def _id_of(table: Table, name: str) -> int:
    return next(column.column_id for column in table.columns if column.name == name)
