"""MERGE against a real database: transactions, parameters, several clients."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from risingpy.errors import CardinalityViolation, FeatureNotSupported, SqlError, WrongObjectType
from risingpy.frontend.results import StartupParameters
from risingpy.frontend.session import open_session
from risingpy.meta.database import Database
from risingpy.meta.epochs.in_process_runner import InProcessRunner
from tests.frontend.session.conftest import Client
from tests.frontend.session.writes.concurrent_counts import check_no_increment_is_lost

COUNT = """MERGE INTO t USING (SELECT $1::bigint AS id, $2::int AS n) s ON t.id = s.id
    WHEN MATCHED AND t.n + s.n = 0 THEN DELETE
    WHEN MATCHED THEN UPDATE SET n = t.n + s.n
    WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.n)"""


@pytest.fixture
def table(client: Any) -> Any:
    client.run("CREATE TABLE t (id bigint PRIMARY KEY, n int)")
    client.run("INSERT INTO t VALUES (1, 10), (2, 20)")
    return client


@contextmanager
def opened(directory: Path) -> Iterator[Client]:
    """A client of a database that is closed at the end."""
    database = Database(directory, parallelism=2)
    database.start(InProcessRunner(database.data_dir))
    client = Client(open_session(database, StartupParameters("root", "dev", {})))
    try:
        yield client
    finally:
        client.session.close()
        database.close()


def rows(client: Any) -> list[tuple[object, ...]]:
    return sorted(client.run("SELECT * FROM t"))


def test_parameters_and_tags(table: Any) -> None:
    table.run(COUNT, 1, 5)
    table.run(COUNT, 3, 3)
    table.run(COUNT, 2, -20)
    assert set(table.tags[-3:]) == {"MERGE 1"}
    assert rows(table) == [(1, 15), (3, 3)]
    table.run("MERGE INTO t USING t s ON t.id = s.id WHEN MATCHED AND t.id > $1 THEN DELETE", 100)
    assert table.tag == "MERGE 0"


def test_a_transaction_sees_its_own_and_rollback_undoes_it(table: Any) -> None:
    table.run("BEGIN")
    table.run(COUNT, 1, -10)
    table.run(COUNT, 1, 4)
    table.run("SAVEPOINT a")
    table.run(COUNT, 1, -4)
    table.run(COUNT, 2, 1)
    table.run(COUNT, 3, 3)
    assert rows(table) == [(2, 21), (3, 3)]
    table.run("ROLLBACK TO a")
    assert rows(table) == [(1, 4), (2, 20)]
    table.run(COUNT, 2, 2)
    table.run("COMMIT")
    assert rows(table) == [(1, 4), (2, 22)]


def test_views_follow(table: Any) -> None:
    table.run("CREATE MATERIALIZED VIEW v AS SELECT count(*) AS c, sum(n) AS s FROM t")
    table.run("CREATE TABLE feed (id bigint, n int)")
    table.run("INSERT INTO feed SELECT g, g FROM generate_series(1, 1000) g")
    merge = "MERGE INTO t USING feed f ON t.id = f.id"
    table.run(f"{merge} WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT VALUES (f.id, f.n)")
    assert table.run("SELECT c, s FROM v") == [(998, sum(range(3, 1001)))]
    table.run(f"{merge} AND f.id % 2 = 0 WHEN MATCHED THEN UPDATE SET n = -f.n")
    assert table.run("SELECT c, s FROM v") == [(998, sum(n if n % 2 else -n for n in range(3, 1001)))]


def test_no_update_of_several_clients_is_lost(table: Any, connect: Any) -> None:
    check_no_increment_is_lost(table, connect, COUNT)


def test_a_failing_pair_leaves_all(table: Any) -> None:
    source = "(VALUES (1, 1), (3, 3), (1, 2)) s (id, n)"
    with pytest.raises(CardinalityViolation, match="MERGE command cannot affect row a second time"):
        table.run(
            f"MERGE INTO t USING {source} ON t.id = s.id WHEN MATCHED THEN UPDATE SET n = s.n"
            " WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.n)"
        )
    assert rows(table) == [(1, 10), (2, 20)]


def test_what_it_refuses(table: Any) -> None:
    table.run("CREATE VIEW v AS SELECT * FROM t")
    with pytest.raises(WrongObjectType, match='cannot merge into view "v"'):
        table.run("MERGE INTO v USING t ON t.id = v.id WHEN MATCHED THEN DELETE")
    table.run("CREATE TABLE log (id bigint, n int) APPEND ONLY")
    with pytest.raises(FeatureNotSupported, match="append-only"):
        table.run("MERGE INTO log USING t ON t.id = log.id WHEN MATCHED THEN DELETE")
    table.run("MERGE INTO log USING t ON t.id = log.id WHEN NOT MATCHED THEN INSERT VALUES (t.id, t.n)")
    assert sorted(table.run("SELECT * FROM log")) == [(1, 10), (2, 20)]
    table.run("BEGIN READ ONLY")
    with pytest.raises(SqlError, match="cannot execute MERGE in a read-only transaction"):
        table.run("MERGE INTO t USING log ON t.id = log.id WHEN MATCHED THEN DELETE")


def test_explain_shows_the_join(table: Any) -> None:
    lines = table.run("EXPLAIN MERGE INTO t USING t s ON t.id = s.id WHEN MATCHED THEN DELETE")
    assert any("Join" in str(line) for line in lines)


def test_what_was_written_stands_after_a_restart(tmp_path: Path) -> None:
    view = "CREATE MATERIALIZED VIEW v AS SELECT count(*) AS c, sum(n) AS s FROM t"
    with opened(tmp_path / "data") as client:
        client.run("CREATE TABLE t (id bigint PRIMARY KEY, n int)")
        client.run(view)
        client.run("INSERT INTO t VALUES (1, 1), (2, 2), (3, 3) ON CONFLICT DO NOTHING")
        client.run("INSERT INTO t VALUES (1, 9), (4, 4) ON CONFLICT (id) DO UPDATE SET n = t.n + excluded.n")
        client.run("UPDATE t SET n = t.n * 10 FROM t AS o WHERE o.id = t.id AND o.n = 2")
        client.run(COUNT, 3, -3)
    with opened(tmp_path / "data") as client:
        expected = [(1, 10), (2, 20), (4, 4)]
        assert (rows(client), client.run("SELECT * FROM v")) == (expected, [(3, 34)])
        client.run("DELETE FROM t USING t AS o WHERE o.id = t.id AND o.n > 9")
        client.run(COUNT, 4, 1)
        assert (rows(client), client.run("SELECT * FROM v")) == ([(4, 5)], [(1, 5)])


def test_identity_columns_number_the_inserted_rows(client: Any) -> None:
    client.run("CREATE TABLE t (id int PRIMARY KEY, n bigint GENERATED ALWAYS AS IDENTITY)")
    source = "(VALUES (1), (2)) s (id)"
    client.run(f"MERGE INTO t USING {source} ON t.id = s.id WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id)")
    assert sorted(client.run("SELECT n FROM t")) == [(1,), (2,)]
    with pytest.raises(SqlError) as caught:
        client.run("MERGE INTO t USING (SELECT 3 AS id) s ON false WHEN NOT MATCHED THEN INSERT VALUES (s.id, 9)")
    assert caught.value.sqlstate == "428C9"
    given = "INSERT OVERRIDING SYSTEM VALUE VALUES (s.id, 9)"
    client.run(f"MERGE INTO t USING (SELECT 3 AS id) s ON false WHEN NOT MATCHED THEN {given}")
    own = "INSERT OVERRIDING USER VALUE VALUES (s.id, 9)"
    client.run(f"MERGE INTO t USING (SELECT 4 AS id) s ON false WHEN NOT MATCHED THEN {own}")
    assert sorted(client.run("SELECT * FROM t WHERE id > 2")) == [(3, 9), (4, 10)]
