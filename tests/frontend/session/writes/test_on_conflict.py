"""INSERT … ON CONFLICT against a real database: transactions, parameters, several clients."""

from __future__ import annotations

import threading
from typing import Any

import psycopg
import pytest

from risingpy.errors import CardinalityViolation, SqlError
from risingpy.frontend.wire import WireServer
from tests.frontend.session.writes.concurrent_counts import check_no_increment_is_lost

ADD = "INSERT INTO t VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET n = t.n + excluded.n"


@pytest.fixture
def table(client: Any) -> Any:
    client.run("CREATE TABLE t (id bigint PRIMARY KEY, n int)")
    client.run("INSERT INTO t VALUES (1, 10), (2, 20)")
    return client


def rows(client: Any) -> list[tuple[object, ...]]:
    return sorted(client.run("SELECT * FROM t"))


def test_the_tag_counts_what_was_inserted_and_updated(table: Any) -> None:
    table.run("INSERT INTO t VALUES (1, 1), (2, 2), (3, 3) ON CONFLICT (id) DO UPDATE SET n = 0 WHERE t.n > 10")
    assert table.tag == "INSERT 0 2"
    assert rows(table) == [(1, 10), (2, 0), (3, 3)]


def test_parameters_are_typed_by_the_columns(table: Any) -> None:
    table.run(ADD, 1, 5)
    table.run(f"{ADD} WHERE excluded.n > $3 RETURNING n + $4", 1, 5, 4, 100)
    assert rows(table) == [(1, 20), (2, 20)]


def test_a_transaction_sees_its_own_and_rollback_undoes_it(table: Any) -> None:
    table.run("BEGIN")
    table.run("DELETE FROM t WHERE id = 1")
    table.run(ADD, 1, 1)
    table.run(ADD, 1, 1)
    table.run("SAVEPOINT a")
    table.run(ADD, 1, 40)
    table.run("UPDATE t SET id = 3 WHERE id = 2")
    table.run(ADD, 2, 7)
    table.run(ADD, 3, 7)
    assert rows(table) == [(1, 42), (2, 7), (3, 27)]
    table.run("ROLLBACK TO a")
    assert rows(table) == [(1, 2), (2, 20)]
    table.run("COMMIT")
    assert rows(table) == [(1, 2), (2, 20)]
    table.run("BEGIN")
    table.run(ADD, 9, 9)
    table.run("ROLLBACK")
    assert rows(table) == [(1, 2), (2, 20)]


def test_a_long_transaction_reads_its_own_rows(table: Any) -> None:
    """Its many small writes become one from time to time; those after a savepoint are forgotten apart."""
    replace = "INSERT INTO t VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET n = excluded.n"
    table.run("BEGIN")
    for i in range(100):
        table.run(ADD, i % 7, 1)
        table.run(replace, 100 + i % 5, i)
    expected = [(i, 15 if i < 2 else 14) for i in range(7)]
    expected[1:3] = [(1, 25), (2, 34)]
    assert rows(table) == [*expected, *((100 + i, 95 + i) for i in range(5))]
    table.run("SAVEPOINT a")
    for i in range(100):
        table.run(ADD, i % 7, 1)
    table.run("DELETE FROM t WHERE id >= 100")
    table.run("ROLLBACK TO a")
    table.run(ADD, 3, 1)
    expected[3] = (3, 15)
    assert rows(table) == [*expected, *((100 + i, 95 + i) for i in range(5))]
    table.run("COMMIT")
    assert rows(table) == [*expected, *((100 + i, 95 + i) for i in range(5))]


def test_views_follow(table: Any) -> None:
    table.run("CREATE MATERIALIZED VIEW v AS SELECT count(*) AS c, sum(n) AS s FROM t")
    table.run("INSERT INTO t SELECT g, 1 FROM generate_series(1, 1000) g ON CONFLICT (id) DO UPDATE SET n = t.n + 1")
    assert table.run("SELECT c, s FROM v") == [(1000, 11 + 21 + 998)]


def test_a_failing_row_leaves_all(table: Any) -> None:
    with pytest.raises(CardinalityViolation, match="cannot affect row a second time"):
        table.run("INSERT INTO t VALUES (3, 1), (1, 1), (1, 2) ON CONFLICT (id) DO UPDATE SET n = 0")
    assert rows(table) == [(1, 10), (2, 20)]


def test_a_read_only_transaction_refuses_it(table: Any) -> None:
    table.run("BEGIN READ ONLY")
    with pytest.raises(SqlError, match="cannot execute INSERT in a read-only transaction"):
        table.run("INSERT INTO t VALUES (1, 1) ON CONFLICT DO NOTHING")


def test_no_update_of_several_clients_is_lost(table: Any, connect: Any) -> None:
    check_no_increment_is_lost(table, connect, ADD)


def test_one_of_several_clients_inserts(table: Any, connect: Any) -> None:
    tags: list[str] = []

    def work(client: Any) -> None:
        client.run("INSERT INTO t VALUES (50, 5) ON CONFLICT DO NOTHING")
        tags.append(client.tag)

    threads = [threading.Thread(target=work, args=(connect(),)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(tags) == ["INSERT 0 0"] * 3 + ["INSERT 0 1"]


@pytest.mark.parametrize(
    ("statement", "failure"),
    [
        ("INSERT INTO t VALUES (1, 5), (3, 3) ON CONFLICT (id) DO UPDATE SET n = excluded.n", None),
        ("INSERT INTO t VALUES (1, 5) ON CONFLICT (id) DO UPDATE SET n = excluded.n RETURNING *", "40001"),
    ],
)
def test_a_table_altered_while_it_waits(table: Any, connect: Any, statement: str, failure: str | None) -> None:
    """It goes on with the table's new form, unless its own result columns would be others."""
    started, done = threading.Event(), threading.Event()
    errors: list[str] = []

    def insert() -> None:
        other = connect()
        try:
            other.run("BEGIN")
            started.set()
            other.run(statement)
            other.run("COMMIT")
        except SqlError as error:
            errors.append(error.sqlstate)
        done.set()

    database = table.session.context.database
    relation = database.reads.catalog.find("t", "public", ())
    own = table.session.context.startup.process_id
    with database.writes.table_lock(relation.relation_id, process_id=own):
        threading.Thread(target=insert).start()
        assert started.wait(5) and not done.wait(0.3)
        table.run("ALTER TABLE t ADD COLUMN extra int DEFAULT 7")
    assert done.wait(10) and errors == ([] if failure is None else [failure])
    changed = [(1, 5, 7), (2, 20, 7), (3, 3, 7)]
    assert rows(table) == (changed if failure is None else [(1, 10, 7), (2, 20, 7)])


def test_explain_shows_where_the_rows_come_from(table: Any) -> None:
    lines = table.run("EXPLAIN INSERT INTO t SELECT id + 1, n FROM t ON CONFLICT (id) DO UPDATE SET n = 1")
    assert any("Scan" in str(line) for line in lines)


def test_a_recurring_text_is_planned_once_with_its_constants(table: Any) -> None:
    for i in range(8):
        table.run(f"INSERT INTO t VALUES ({i}, {i}) ON CONFLICT (id) DO NOTHING")
    for i in range(8):
        table.run(f"INSERT INTO t VALUES ({i}, {i}) ON CONFLICT (id) DO UPDATE SET n = {i * 100}")
    assert rows(table) == [(i, i * 100) for i in range(8)]


def test_psycopg_executes_it_many_times(table: Any, server: WireServer) -> None:
    with psycopg.connect(f"host=127.0.0.1 port={server.port} user=root dbname=dev") as connection:
        cursor = connection.cursor()
        upsert = "INSERT INTO t VALUES (%s, %s) ON CONFLICT (id) DO UPDATE SET n = t.n + excluded.n"
        cursor.executemany(upsert, [(i % 10, 1) for i in range(100)])
        assert cursor.rowcount == 100
    assert rows(table) == [(0, 10), (1, 20), (2, 30), *((i, 10) for i in range(3, 10))]


def test_what_django_sends_for_bulk_create(table: Any) -> None:
    text = 'INSERT INTO "t" ("id", "n") VALUES ($1, $2), ($3, $4) ON CONFLICT'
    assert table.run(f'{text}("id") DO UPDATE SET "n" = EXCLUDED."n" RETURNING "t"."id"', 1, 5, 3, 6) == [(1,), (3,)]
    table.run(f"{text} DO NOTHING", 1, 7, 4, 7)
    assert rows(table) == [(1, 5), (2, 20), (3, 6), (4, 7)]


def test_what_sqlalchemy_sends(table: Any, server: WireServer) -> None:
    sqlalchemy = pytest.importorskip("sqlalchemy")
    dialect = pytest.importorskip("sqlalchemy.dialects.postgresql")
    columns = [
        sqlalchemy.Column("id", sqlalchemy.BigInteger, primary_key=True),
        sqlalchemy.Column("n", sqlalchemy.Integer),
    ]
    made = sqlalchemy.Table("t", sqlalchemy.MetaData(), *columns)
    new = dialect.insert(made)
    upsert = new.on_conflict_do_update(
        index_elements=[made.c.id], set_={"n": made.c.n + new.excluded.n}, where=made.c.n < 15
    )
    engine = sqlalchemy.create_engine(f"postgresql+psycopg://root@127.0.0.1:{server.port}/dev")
    with engine.begin() as connection:
        given = [{"id": i, "n": 1} for i in range(4)]
        assert connection.execute(upsert.returning(made.c.id, made.c.n), given).all() == [(0, 1), (1, 11), (3, 1)]
        connection.execute(dialect.insert(made).on_conflict_do_nothing(), given)
        connection.execute(dialect.insert(made).on_conflict_do_update(constraint="t_pkey", set_={"n": 9}), given[:1])
    engine.dispose()
    assert rows(table) == [(0, 9), (1, 11), (2, 20), (3, 1)]
