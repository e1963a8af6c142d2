"""What threads share: sessions look at the catalog, read, write and alter at once, and switch as often as they can."""

from __future__ import annotations

import os
import random
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from risingpy.errors import InternalError, SqlError
from risingpy.functions.evaluation import query_engines
from risingpy.functions.evaluation.query_engines import QueryEngines
from risingpy.storage.engine.read_views import StateStore

SECONDS = 5.0
SYSTEM = (
    "SELECT * FROM rw_catalog.rw_read_views",
    "SELECT c.relname, a.attname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid",
    "SELECT * FROM information_schema.tables",
    "SELECT * FROM rw_catalog.rw_table_stats",
    "SELECT * FROM rw_catalog.rw_compactions",
    "SELECT * FROM rw_catalog.rw_state_store",
    "SELECT * FROM pg_indexes",
    "SHOW PARAMETERS",
    "SELECT * FROM pg_proc LIMIT 5",
)
READS = (
    "SELECT * FROM kv WHERE v = 7",
    "SELECT count(*), sum(v) FROM kv",
    "SELECT k, count(*) FROM kv GROUP BY k ORDER BY 2 DESC LIMIT 3",
    "SELECT * FROM kv WHERE k = 3",
    "SELECT * FROM sums WHERE k % 2 = 0",
    "SELECT row(k, v)::struct<a int, b varchar> FROM kv LIMIT 2",
)


@pytest.fixture
def restless() -> Iterator[None]:
    """Threads switch after every few instructions."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def run_together(bodies: list[Callable[[], None]], seconds: float) -> list[BaseException]:
    """Calls each body again and again, in a thread of its own; returns what is no error of a client's."""
    end = time.monotonic() + seconds
    defects: list[BaseException] = []

    def run(body: Callable[[], None]) -> None:
        while time.monotonic() < end and not defects:
            try:
                body()
            except SqlError as error:
                if isinstance(error, InternalError) or error.sqlstate.startswith("XX"):
                    defects.append(error)
            except BaseException as error:
                defects.append(error)

    threads = [threading.Thread(target=run, args=(body,)) for body in bodies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return defects


def test_sessions_that_do_everything_at_once(client: Any, connect: Callable[[], Any], restless: None) -> None:
    client.run("CREATE TABLE kv (k int PRIMARY KEY, v int)")
    client.run("CREATE INDEX by_v ON kv (v)")
    client.run("CREATE MATERIALIZED VIEW sums AS SELECT k, sum(v) AS s FROM kv GROUP BY k")
    client.run("INSERT INTO kv SELECT i, i % 10 FROM generate_series(1, 100) i")
    client.run("FLUSH")
    chance, numbers = random.Random(1), iter(range(10_000))

    def session(choices: Callable[[], str]) -> Callable[[], None]:
        mine = connect()
        return lambda: mine.run(choices())

    def schema_change() -> str:
        number = next(numbers)
        return chance.choice(
            [
                f"CREATE TABLE x{number} (a int); DROP TABLE x{number}",
                f"CREATE INDEX i{number} ON kv (v, k); DROP INDEX i{number}",
                f"ALTER TABLE kv ADD COLUMN c{number} int DEFAULT 1; ALTER TABLE kv DROP COLUMN c{number}",
            ]
        )

    bodies = [session(lambda: chance.choice(SYSTEM)) for _ in range(3)]
    bodies += [session(lambda: chance.choice(READS)) for _ in range(2)]
    bodies += [session(lambda: f"INSERT INTO kv (k, v) VALUES ({chance.randrange(100)}, {chance.randrange(10)})")]
    bodies += [session(schema_change)]
    assert run_together(bodies, SECONDS) == []


def test_views_are_looked_at_while_epochs_open_and_end_them(tmp_path: Path, restless: None) -> None:
    store = StateStore(tmp_path, 0)  # no shards: nothing is on the disk
    numbers = iter(range(1_000_000))

    def open_and_end() -> None:
        view = store.open_read_view(next(numbers))
        view.release()

    def look() -> None:
        store.views()
        store.cut_views(60)

    assert run_together([open_and_end, open_and_end, look, look, look], 1.5) == []


def test_a_burst_of_statements_makes_no_more_instances_and_threads_than_allowed(tmp_path: Path) -> None:
    engines, together = QueryEngines(tmp_path), threading.Barrier(24)
    before = len(os.listdir("/proc/self/task"))

    def lease(_: int) -> int:
        together.wait()
        with engines.lease(64 << 20) as lease:
            together.wait()
            lease.cursor.sql("SELECT 1").fetchall()
            return len(os.listdir("/proc/self/task"))

    with ThreadPoolExecutor(24) as pool:
        threads = max(pool.map(lease, range(24)))
    assert len(engines._instances) == query_engines._MOST_INSTANCES
    assert threads <= before + 24  # DuckDB has none of its own
    engines.close()
