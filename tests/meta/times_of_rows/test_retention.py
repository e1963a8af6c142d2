"""Tables with retention_seconds: rows end by the clock, and views keep what they have made of them."""

from __future__ import annotations

import time

import pytest

from risingpy.executors.watermark import retained_rows
from risingpy.meta.epochs import number
from tests.meta.conftest import Client, Server
from tests.meta.test_passing_time import eventually
from tests.meta.test_watermarks import relation

TABLE = "CREATE TABLE t (v INT) APPEND ONLY WITH (retention_seconds = {})"


def entries(server: Server, client: Client) -> object:
    """How many rows the state table by their ages has."""
    tables = server.database.reads.state.jobs[relation(server, "t").relation_id].state_tables
    (name,) = [table.name for table in tables if "retention" in table.name]
    return client.run(f"SELECT count(*) FROM {name}")[0][0]


@pytest.mark.on_spark
def test_rows_end_although_nothing_comes(server: Server) -> None:
    client = server.client()
    client.run(TABLE.format(2))
    client.run("CREATE MATERIALIZED VIEW seen AS SELECT count(*) AS n, sum(v) AS s FROM t")
    client.run("INSERT INTO t SELECT generate_series(1, 1000)")
    client.run("FLUSH")
    assert client.run("SELECT count(*) FROM t") == [(1000,)]
    assert entries(server, client) == 1000
    eventually(client, "SELECT count(*) FROM t", [(0,)])
    assert entries(server, client) == 0
    client.run("INSERT INTO t VALUES (7)")
    assert client.run("SELECT v FROM t") == [(7,)]
    assert client.run("SELECT * FROM seen") == [(1001, 500507)]


def test_what_has_ended_while_no_server_ran_goes_at_the_start(server: Server) -> None:
    client = server.client()
    client.run(TABLE.format(1))
    client.run("INSERT INTO t VALUES (1), (2)")
    client.run("FLUSH")
    server.stop()
    server.start()
    client = server.client()
    eventually(client, "SELECT count(*) FROM t", [(0,)])


def test_each_epoch_ends_so_many_rows_at_most(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retained_rows, "ENDED_ROWS_PER_EPOCH", 10)
    client = server.client()
    client.run(TABLE.format(1))
    client.run("INSERT INTO t SELECT generate_series(1, 50)")
    client.run("FLUSH")
    eventually(client, "SELECT count(*) FROM t", [(0,)], seconds=20)


def test_alter_and_definition(server: Server) -> None:
    client = server.client()
    client.run(TABLE.format(2))
    client.run("INSERT INTO t VALUES (1)")
    client.run("ALTER TABLE t ADD COLUMN w INT DEFAULT 5")
    client.run("INSERT INTO t VALUES (2, 6)")
    assert client.run("SELECT v, w FROM t ORDER BY v") == [(1, 5), (2, 6)]
    ((_, definition),) = client.run("SHOW CREATE TABLE t")
    assert definition.endswith("(v integer, w integer DEFAULT 5) APPEND ONLY WITH (retention_seconds = 2)"), definition
    eventually(client, "SELECT count(*) FROM t", [(0,)])
    client.run("DROP TABLE t")
    client.run(definition)


def test_a_month_of_epochs_keeps_the_state_of_two(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """An epoch in six hours, by a clock that jumps: the table has never more than the rows of the last two epochs."""
    clock = FastClock(monkeypatch)
    client = server.client()
    client.run(TABLE.format(6 * 3600))
    client.run("CREATE MATERIALIZED VIEW seen AS SELECT count(*) AS n FROM t")
    most = 0
    for _ in range(4 * 31):
        clock.hours += 6
        client.run("INSERT INTO t SELECT generate_series(1, 10)")
        client.run("FLUSH")
        most = max(most, int(str(entries(server, client))))
    assert most <= 20
    assert client.run("SELECT * FROM seen") == [(10 * 4 * 31,)]


class FastClock:
    """The clock that epochs are numbered by, some hours ahead."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.hours = 0
        monkeypatch.setattr(number, "time", self)

    def time(self) -> float:
        """Seconds since 1970."""
        return time.time() + 3600 * self.hours
