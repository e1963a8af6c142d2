"""NULL in primary keys: random changes beside a PostgreSQL with UNIQUE NULLS NOT DISTINCT, locks, cursors, catalogs."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import psycopg
import pytest

from risingpy.errors import SqlError
from risingpy.frontend.results import StartupParameters
from risingpy.frontend.session import open_session
from risingpy.frontend.wire import WireServer
from risingpy.meta.database import Database
from risingpy.meta.epochs.in_process_runner import InProcessRunner
from risingpy.meta.writing.row_keys import in_order
from tests.frontend.session.conftest import Client
from tests.frontend.session.writes.short_writes import Connection, connect
from tests.postgres_oracle import PostgresOracle
from tests.postgres_oracle import postgres_oracle as postgres_oracle

_CONFLICT = "ON CONFLICT (a, b) DO UPDATE SET"
# Both say the same: where a row replaces another one here, PostgreSQL must be told.
_STATEMENTS = (
    ("INSERT INTO t VALUES (%s, %s, %s)", f"INSERT INTO t VALUES (%s, %s, %s) {_CONFLICT} n = excluded.n", "abn"),
    ("INSERT INTO t VALUES (%s, %s, %s) ON CONFLICT DO NOTHING", None, "abn"),
    (f"INSERT INTO t VALUES (%s, %s, %s) {_CONFLICT} n = t.n * 2 - excluded.n", None, "abn"),
    ("UPDATE t SET n = n + %s WHERE a = %s AND b = %s", None, "nab"),
    ("UPDATE t SET n = n + %s WHERE a IS NOT DISTINCT FROM %s AND b IS NOT DISTINCT FROM %s", None, "nab"),
    ("UPDATE t SET a = %s WHERE b IS NOT DISTINCT FROM %s", None, "ab"),
    ("UPDATE t SET a = %s, b = %s WHERE a IS NULL AND n > %s", None, "abn"),
    ("UPDATE t SET b = NULL WHERE a = %s", None, "a"),
    ("DELETE FROM t WHERE a = %s AND b = %s", None, "ab"),
    ("DELETE FROM t WHERE a IS NOT DISTINCT FROM %s AND b IS NOT DISTINCT FROM %s", None, "ab"),
    ("DELETE FROM t WHERE a IS NULL AND n < %s", None, "n"),
    (
        "MERGE INTO t USING (VALUES (%s::int, %s::text, %s::int)) AS s (a, b, n) ON t.a IS NOT DISTINCT FROM s.a "
        "AND t.b IS NOT DISTINCT FROM s.b WHEN MATCHED AND t.n > 4 THEN DELETE "
        "WHEN MATCHED THEN UPDATE SET n = t.n + s.n WHEN NOT MATCHED THEN INSERT VALUES (s.a, s.b, s.n)",
        None,
        "abn",
    ),
)
_QUERIES = (
    "SELECT * FROM t",
    "SELECT a, count(*) AS rows, count(b) AS bs, sum(n) AS s, min(b) AS b FROM t GROUP BY a",
    "SELECT x.a, x.b, y.b AS c FROM t x LEFT JOIN t y ON x.a = y.a AND x.n < y.n",
    "SELECT x.b, y.n FROM t x JOIN t y ON x.b IS NOT DISTINCT FROM y.b",
    "SELECT n FROM t WHERE n NOT IN (SELECT a FROM t)",
    "SELECT n FROM t WHERE a NOT IN (SELECT n FROM t)",
    "SELECT u.id, count(t) AS rows, count(t.a) AS a FROM u LEFT JOIN t ON u.id = coalesce(t.n, 3) GROUP BY u.id",
    "SELECT t::text, u.id FROM t FULL JOIN u ON u.id = coalesce(t.n, 3)",
)
_IN_ORDER = (
    "SELECT a, b FROM t ORDER BY a, b LIMIT 3",
    "SELECT a, b FROM t ORDER BY a DESC, b LIMIT 3",
    "SELECT min(a), max(a), min(b), max(b) FROM t",
)


@pytest.mark.parametrize("guarded", [False, True], ids=["free", "guarded"])
@pytest.mark.parametrize("seed", range(2))
def test_random_changes(
    client: Client, server: WireServer, postgres_oracle: PostgresOracle, seed: int, guarded: bool
) -> None:
    chance = random.Random(seed)
    rule = ", UNIQUE (n), CHECK (n < 1000)" if guarded else ""
    with postgres_oracle.connect() as judge, connect(server) as connection:
        judge.execute(f"CREATE SCHEMA nulls_{seed}_{guarded}")
        judge.execute(f"SET search_path = nulls_{seed}_{guarded}")
        judge.execute(f"CREATE TABLE t (a int, b text, n int, UNIQUE NULLS NOT DISTINCT (a, b){rule})")
        connection.execute(f"CREATE TABLE t (a int NULL, b text NULL, n int, PRIMARY KEY (a, b){rule})")
        for each in (judge, connection):
            each.execute("CREATE TABLE u (id int PRIMARY KEY)")
            each.execute("INSERT INTO u SELECT * FROM generate_series(-2, 6)")
        for number, query in enumerate(_QUERIES):
            connection.execute(f"CREATE MATERIALIZED VIEW before_{number} AS {query}")
        for step in range(160):
            _change(chance, connection, judge)
            if step % 40 == 39:
                _compare(connection, judge, step)


def _change(chance: random.Random, connection: Connection, judge: Connection) -> None:
    """One statement, or some in a transaction that may be rolled back; both sides say the same."""
    is_block = chance.random() < 0.25
    if is_block:
        for each in (connection, judge):
            each.execute("BEGIN")
    for _ in range(chance.randint(2, 5) if is_block else 1):
        ours, theirs, kinds = chance.choice(_STATEMENTS)
        drawn = {
            "a": chance.choice([None, 1, 2]),
            "b": chance.choice([None, "x"]),
            "n": chance.choice([None, *range(-3, 20)]),
        }
        values = [drawn[kind] for kind in kinds]
        outcomes = [_outcome(connection, ours, values), _outcome(judge, theirs or ours, values)]
        assert outcomes[0] == outcomes[1], (ours, values)
        if len(str(outcomes[0])) == 5:  # an error ends the block
            break
    if is_block:
        end = chance.choice(["COMMIT", "ROLLBACK"])
        for each in (connection, judge):
            each.execute(end)


def _outcome(connection: Connection, text: str, values: Sequence[object]) -> str | None:
    try:
        return connection.execute(text.encode(), values, prepare=True).statusmessage
    except psycopg.Error as error:
        return error.sqlstate


def _compare(connection: Connection, judge: Connection, step: int) -> None:
    connection.execute("FLUSH")
    for number, query in enumerate(_QUERIES):
        connection.execute(f"CREATE MATERIALIZED VIEW after_{number}_{step} AS {query}".encode())
        expected = _sorted(judge, query)
        for ours in (query, f"SELECT * FROM before_{number}", f"SELECT * FROM after_{number}_{step}"):
            assert _sorted(connection, ours) == expected, ours
        connection.execute(f"DROP MATERIALIZED VIEW after_{number}_{step}".encode())
    for query in _IN_ORDER:
        assert connection.execute(query.encode()).fetchall() == judge.execute(query.encode()).fetchall()


def _sorted(connection: Connection, query: str) -> list[str]:
    return sorted(map(repr, connection.execute(query.encode()).fetchall()))


def test_keys_are_locked_in_one_order() -> None:
    keys = [(None, 1), (2, None), (1, 5), (2, 3), (None, None), (None, 0)]
    assert in_order(keys) == [(1, 5), (2, 3), (2, None), (None, 0), (None, 1), (None, None)]


def test_two_transactions_write_the_row_of_the_key_null(client: Client, server: WireServer) -> None:
    client.run("CREATE TABLE t (k int NULL PRIMARY KEY, n int)")
    insert = "INSERT INTO t VALUES (NULL, 1), (1, 1) ON CONFLICT (k) DO UPDATE SET n = t.n + 1"
    with connect(server) as one, connect(server) as other:
        one.execute("BEGIN")
        one.execute(insert)
        ended = threading.Event()

        def wait() -> None:
            other.execute(insert)
            ended.set()

        thread = threading.Thread(target=wait)
        thread.start()
        assert not ended.wait(0.3)
        seen = client.run("SELECT key, granted FROM rw_catalog.rw_locks WHERE kind = 'row' ORDER BY 1, 2")
        assert ("(k)=(null)", True) in seen
        one.execute("COMMIT")
        thread.join(30)
        assert ended.is_set()
    client.run("FLUSH")
    assert client.run("SELECT * FROM t ORDER BY k") == [(1, 2), (None, 2)]


def test_rows_are_locked_by_select(client: Client, connect: Callable[[], Client]) -> None:
    client.run("CREATE TABLE t (a int NULL, b int NULL, n int, PRIMARY KEY (a, b))")
    client.run("INSERT INTO t VALUES (NULL, NULL, 1), (NULL, 2, 2), (1, NULL, 3), (1, 2, 4)")
    other = connect()
    client.run("BEGIN")
    assert client.run("SELECT n FROM t WHERE b IS NULL FOR UPDATE") in ([(1,), (3,)], [(3,), (1,)])
    free = "SELECT n FROM t ORDER BY n FOR UPDATE SKIP LOCKED"
    assert other.run(free) == [(2,), (4,)]
    other.run("BEGIN")
    assert other.run("SELECT n FROM t ORDER BY n LIMIT 1 FOR UPDATE SKIP LOCKED") == [(2,)]
    with pytest.raises(SqlError, match='could not obtain lock on row in relation "t"'):
        other.run("SELECT n FROM t WHERE a IS NULL AND b IS NULL FOR UPDATE NOWAIT")
    other.run("ROLLBACK")
    client.run("COMMIT")
    assert other.run(free) == [(1,), (2,), (3,), (4,)]


def test_a_cursor_stands_on_the_row_of_the_key_null(client: Client) -> None:
    client.run("CREATE TABLE t (a int NULL, b int NULL, n int, PRIMARY KEY (a, b))")
    client.run("INSERT INTO t VALUES (NULL, NULL, 1), (NULL, 2, 2), (1, NULL, 3)")
    client.run("BEGIN; DECLARE c CURSOR FOR SELECT n FROM t ORDER BY n FOR UPDATE")
    for _ in range(2):
        client.run("FETCH c")
        client.run("UPDATE t SET n = n * 10 WHERE CURRENT OF c")
    client.run("FETCH c")
    client.run("DELETE FROM t WHERE CURRENT OF c")
    client.run("COMMIT")
    assert sorted(client.run("SELECT n FROM t")) == [(10,), (20,)]
    client.run(
        "BEGIN; DECLARE c CURSOR FOR SELECT x FROM generate_series(1, 2) x LEFT JOIN t ON x = t.n FOR UPDATE OF t"
    )
    client.run("FETCH c")
    with pytest.raises(SqlError, match=r"is not a simply updatable scan|does not have a FOR UPDATE/SHARE reference"):
        client.run("DELETE FROM t WHERE CURRENT OF c")
    client.run("ROLLBACK")


def test_copy(client: Client) -> None:
    client.run("CREATE TABLE t (k int NULL PRIMARY KEY, n int)")
    client.copy_in("COPY t FROM STDIN", [None, 1, None], [1, 2, 3]).sink.finish()
    assert client.run("SELECT * FROM t ORDER BY k") == [(1, 2), (None, 3)]


def test_definitions_keep_the_word(client: Client) -> None:
    client.run("CREATE TABLE t (a int NULL, b int, c text NULL, PRIMARY KEY (a, b))")
    client.run("ALTER TABLE t ADD COLUMN d int")
    ((_, text),) = client.run("SHOW CREATE TABLE t")
    assert text == "CREATE TABLE t (a integer NULL, b integer NOT NULL, c text, d integer, PRIMARY KEY (a, b))"
    client.run(str(text).replace(" t ", " again ", 1))
    client.run("CREATE TABLE alike (LIKE t INCLUDING ALL)")
    client.run("CREATE TABLE strict (LIKE t, PRIMARY KEY (a))")
    nullable = [("a", "YES"), ("b", "NO"), ("c", "YES"), ("d", "YES")]
    for name in ("t", "again", "alike"):
        client.run(f"INSERT INTO {name} VALUES (NULL, 1)")
        told = f"SELECT column_name, is_nullable FROM information_schema.columns WHERE table_name = '{name}'"
        assert sorted(client.run(told)) == nullable
        told = f"SELECT attname, attnotnull FROM pg_attribute WHERE attrelid = '{name}'::regclass"
        assert sorted(client.run(told)) == [(column, each == "NO") for column, each in nullable]
    ((rules,),) = client.run(
        "SELECT count(*) FROM information_schema.check_constraints WHERE constraint_name ~ '_1_not'"
    )
    assert rules == 1  # that of `strict`
    with pytest.raises(SqlError, match='null value in column "a"'):
        client.run("INSERT INTO strict VALUES (NULL, 1)")


def test_another_type_of_a_keys_column_keeps_the_word(client: Client) -> None:
    client.run("CREATE TABLE t (k int NULL PRIMARY KEY, n int)")
    client.run("INSERT INTO t VALUES (NULL, 1), (2, 2), (3, 3)")
    with pytest.raises(SqlError, match='could not create unique index "t_pkey"'):
        client.run("ALTER TABLE t ALTER COLUMN k TYPE bigint USING nullif(k, 2)")
    client.run("ALTER TABLE t ALTER COLUMN k TYPE bigint USING k + 1")
    client.run("INSERT INTO t VALUES (NULL, 10), (4, 30)")
    assert client.run("SELECT * FROM t ORDER BY k") == [(3, 2), (4, 30), (None, 10)]
    client.run("ALTER TABLE t ADD COLUMN at bigint DEFAULT floor(random())::bigint")
    assert client.run("SELECT k, n, at FROM t WHERE k IS NULL") == [(None, 10, 0)]


def test_a_view_with_its_plan_knows_that_the_key_may_be_null(client: Client) -> None:
    """A plain view is stored as a plan."""
    client.run("CREATE TABLE t (k int NULL PRIMARY KEY); CREATE TABLE s (k int PRIMARY KEY)")
    client.run("CREATE VIEW missing AS SELECT k FROM s WHERE k NOT IN (SELECT k FROM t)")
    client.run("CREATE MATERIALIZED VIEW m AS SELECT * FROM missing")
    client.run("INSERT INTO s VALUES (1), (2); INSERT INTO t VALUES (1)")
    assert client.run("SELECT * FROM missing") == client.run("SELECT * FROM m") == [(2,)]
    client.run("INSERT INTO t VALUES (NULL)")
    assert client.run("SELECT * FROM missing") == client.run("SELECT * FROM m") == []
    client.run("DELETE FROM t WHERE k IS NULL; ALTER TABLE t ALTER COLUMN k SET NOT NULL")
    assert client.run("SELECT * FROM missing") == client.run("SELECT * FROM m") == [(2,)]


def test_the_rows_are_there_after_a_restart(tmp_path: Path) -> None:
    for number in range(3):
        database = Database(tmp_path / "data", parallelism=2)
        database.start(InProcessRunner(database.data_dir))
        client = Client(open_session(database, StartupParameters("root", "dev", {}, process_id=1)))
        client.run("CREATE TABLE IF NOT EXISTS t (k int NULL PRIMARY KEY, n int)")
        insert = "INSERT INTO t VALUES (1, 1), (NULL, %s) ON CONFLICT (k) DO UPDATE SET n = t.n * 10 + excluded.n"
        client.run(insert.replace("%s", str(number)))
        expected = [[(1, 1), (None, 0)], [(1, 11), (None, 1)], [(1, 111), (None, 12)]]
        assert client.run("SELECT * FROM t ORDER BY k") == expected[number]
        client.session.close()
        database.close()
