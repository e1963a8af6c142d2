"""rw_fragments, rw_epochs and rw_memory: they tell of what runs, and join with the other relations."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.frontend.session.conftest import Client


@pytest.fixture
def made(client: Client) -> Any:  # whose rows have values of all types
    client.run("CREATE TABLE t (id int PRIMARY KEY, v int)")
    client.run("CREATE MATERIALIZED VIEW m AS SELECT v, count(*) AS n FROM t GROUP BY v")
    client.run("INSERT INTO t SELECT x, x % 7 FROM generate_series(1, 100) x")
    client.run("FLUSH")
    return client


def test_fragments_of_a_view(made: Any) -> None:
    sql = (
        "SELECT f.fragment_id, f.stage, f.operators, f.upstream_fragment_ids, f.parallelism, f.rows_out, f.busy_ms"
        " FROM rw_fragments f JOIN rw_catalog.rw_relations r ON f.table_id = r.id WHERE r.name = 'm' ORDER BY f.stage"
    )
    [first, last] = made.run(sql)
    assert first[1:4] == (0, ["LocalAgg", "TableScan"], [])
    assert last[1:4] == (1, ["Materialize", "HashAgg", "Exchange"], [first[0]])
    assert (first[4], last[4]) == (2, 2)
    assert 7 <= first[5] <= 14  # each of two shards has its own groups before the exchange
    assert last[5] == 7
    assert first[6] > 0 and last[6] > 0


def test_fragments_name_their_state_tables(made: Any) -> None:
    kept = made.run("SELECT unnest(state_table_ids) FROM rw_fragments ORDER BY 1")
    known = made.run(
        "SELECT id FROM rw_internal_tables UNION SELECT id FROM rw_relations WHERE name IN ('t', 'm') ORDER BY 1"
    )
    assert kept == known
    made.run("DROP MATERIALIZED VIEW m")
    assert made.run("SELECT operators FROM rw_fragments") == [(["Materialize", "Dml"],)]


def test_tables_with_their_rows(made: Any) -> None:
    made.run("CREATE TABLE empty (x int)")
    sql = "SELECT relname, n_live_tup FROM pg_stat_user_tables ORDER BY relname"
    assert made.run(sql) == [("empty", 0), ("t", 100)]
    made.run("DELETE FROM t WHERE id > 10; FLUSH")
    assert made.run(sql) == [("empty", 0), ("t", 10)]


def test_the_last_epochs(made: Any) -> None:
    columns = "epoch, rows, stages, is_one_task, total_ms, plan_ms + run_ms + commit_ms + publish_ms, began_at <= now()"
    newest = made.run(f"SELECT {columns} FROM rw_epochs")[0]
    assert newest[0] == made.run("SELECT committed_epoch FROM rw_state_store")[0][0]
    assert newest[1:4] == (100, 2, True)
    assert newest[4] == pytest.approx(newest[5])
    assert newest[4] > 0 and newest[6] is True
    before = made.run("SELECT max(epoch) FROM rw_epochs")[0][0]
    made.run("INSERT INTO t VALUES (1000, 1); FLUSH")
    assert made.run(f"SELECT rows FROM rw_epochs WHERE epoch > {before}") == [(1,)]


def test_no_more_epochs_are_kept_than_a_page_shows(made: Any) -> None:
    for number in range(300):
        made.run(f"INSERT INTO t VALUES ({2000 + number}, 1); FLUSH")
    assert made.run("SELECT count(*) FROM rw_epochs") == [(256,)]
    epochs = [row[0] for row in made.run("SELECT epoch FROM rw_epochs")]
    assert epochs == sorted(epochs, reverse=True)


def test_a_statement_that_sorts_has_memory(made: Any, connect: Callable[..., Any]) -> None:
    parts = dict(made.run("SELECT part, bytes FROM rw_memory"))
    assert set(parts) == {"server", "mapped", "java", "workers", "duckdb", "spilled"}
    assert parts["server"] > 1 << 20 and parts["mapped"] > 1 << 20
    holder: Client = connect()
    [statement] = holder.session.split("SELECT a.id, b.id FROM t a, t b, t c ORDER BY a.id + b.id * c.id")
    result = holder.session.execute(holder.session.prepare(statement, ()), ())
    assert result.batches is not None
    next(iter(result.batches))
    end = time.monotonic() + 10
    while not (held := made.run("SELECT bytes FROM rw_memory WHERE part = 'duckdb'")[0][0]):
        assert time.monotonic() < end
    assert held > 1 << 20
    holder.session.fail()
