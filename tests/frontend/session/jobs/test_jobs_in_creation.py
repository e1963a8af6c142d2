"""Jobs in creation: progress from the first moment, limits, the background, WAIT and CANCEL JOBS."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from itertools import pairwise

import pytest

from risingpy.errors import SqlError
from risingpy.frontend.results import Notice
from risingpy.meta.epochs import waiters
from tests.frontend.session.conftest import Client

ROWS = 5000
VIEW = "CREATE MATERIALIZED VIEW m AS SELECT k, count(*) AS n FROM t GROUP BY k"
Connect = Callable[[], Client]


@pytest.fixture
def client(connect: Connect) -> Client:
    client = connect()
    client.run("CREATE TABLE t (id INT PRIMARY KEY, k INT)")
    client.run(f"INSERT INTO t SELECT i, i % 7 FROM generate_series(1, {ROWS}) i; FLUSH")
    return client


def until(holds: Callable[[], object], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)


class Waiting:
    """A statement that another session runs meanwhile."""

    def __init__(self, client: Client, sql: str) -> None:
        self.error: SqlError | None = None
        self.told: list[Notice] = []
        client.session.speaks_through(self.told.append)
        self.thread = threading.Thread(target=self._run, args=(client, sql))
        self.thread.start()

    def _run(self, client: Client, sql: str) -> None:
        try:
            client.run(sql)
        except SqlError as error:
            self.error = error


def jobs(client: Client) -> list[tuple[object, ...]]:
    return client.run("SHOW JOBS")


def test_a_job_shows_how_far_it_is_from_the_first_moment(client: Client, connect: Connect) -> None:
    limited = connect()
    limited.run("SET backfill_rate_limit = 1000")
    creation = Waiting(limited, VIEW)
    until(lambda: [job[1:3] for job in jobs(client)] == [(VIEW, "FOREGROUND")])
    (job,) = jobs(client)
    assert f"of {ROWS} rows" in str(job[3]) and "at most 1000 rows/s" in str(job[3])
    columns = "create_type, rows_read, total_rows, rate_limit, rows_per_second, seconds_left"
    until(lambda: client.run("SELECT seconds_left FROM rw_catalog.rw_ddl_progress") not in ([], [(None,)]))
    [(kind, read, total, limit, speed, left)] = client.run(f"SELECT {columns} FROM rw_catalog.rw_ddl_progress")
    assert (kind, total, limit) == ("FOREGROUND", ROWS, 1000)
    assert isinstance(read, int) and isinstance(speed, float) and isinstance(left, float)
    assert 0 < read < ROWS and speed > 0 and left == pytest.approx((ROWS - read) / speed)
    client.run("ALTER MATERIALIZED VIEW m SET backfill_rate_limit TO DEFAULT")
    creation.thread.join(60)
    assert creation.error is None and jobs(client) == []
    assert sum(n for _, n in client.run("SELECT * FROM m")) == ROWS  # type: ignore[misc]


def test_a_create_tells_its_client_how_far_it_is(
    client: Client, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiters, "TELL_SECONDS", 0.05)
    limited, quiet = connect(), connect()
    limited.run("SET backfill_rate_limit = 1000")
    quiet.run("SET backfill_rate_limit = 0; SET client_min_messages = warning")
    creation = Waiting(limited, VIEW)
    other = Waiting(quiet, VIEW.replace("VIEW m", "VIEW silent"))
    until(lambda: len(creation.told) > 3 and len(jobs(client)) == 2)
    assert creation.told[-1].severity == "NOTICE"
    assert creation.told[-1].message.startswith("materialized view m: ")
    assert f"of {ROWS} rows" in creation.told[-1].message
    assert all(one.message != next_.message for one, next_ in pairwise(creation.told.copy()))
    client.run("CANCEL JOBS " + ", ".join(str(job[0]) for job in jobs(client)))
    creation.thread.join(60)
    other.thread.join(60)
    assert other.told == []


def test_a_create_in_the_background_returns_and_wait_waits(client: Client, connect: Connect) -> None:
    client.run("SET background_ddl = true; SET backfill_rate_limit = 0")
    client.run(VIEW)
    client.run("CREATE INDEX i ON t (k)")
    shown = jobs(client)
    assert [job[2] for job in shown] == ["BACKGROUND"] * 2
    assert all("paused" in str(job[3]) for job in shown)
    with pytest.raises(SqlError):
        client.run("SELECT * FROM m")
    waiting = Waiting(connect(), "WAIT")
    time.sleep(0.05)
    assert waiting.thread.is_alive()
    client.run("ALTER MATERIALIZED VIEW m SET BACKFILL_RATE_LIMIT = 100000")
    client.run("ALTER INDEX i SET backfill_rate_limit = default")
    waiting.thread.join(60)
    assert waiting.error is None and jobs(client) == []
    assert sorted(client.run("SELECT * FROM m")) == sorted(client.run("SELECT k, count(*) FROM t GROUP BY k"))
    client.run("ALTER MATERIALIZED VIEW m SET backfill_rate_limit = 5")
    assert client.notices[-1] == 'materialized view "m" has all rows of its upstreams: there is nothing to limit'


def test_cancel_jobs_removes_them_and_tells_who_waits(client: Client, connect: Connect) -> None:
    paused = connect()
    paused.run("SET backfill_rate_limit = 0")
    creation = Waiting(paused, VIEW)
    client.run("SET background_ddl = true; SET backfill_rate_limit = 0")
    client.run(VIEW.replace("VIEW m", "VIEW other"))
    until(lambda: len(jobs(client)) == 2)
    ids = [str(job[0]) for job in jobs(client)]
    began = time.monotonic()
    assert client.run(f"CANCEL JOBS {', '.join(ids)}") == [(each,) for each in ids]
    creation.thread.join(60)
    assert time.monotonic() - began < 20  # at rest it is some milliseconds
    assert creation.error is not None and creation.error.sqlstate == "57014"
    assert creation.error.message == "canceling statement due to CANCEL JOBS"
    until(lambda: jobs(client) == [])
    client.run("SET backfill_rate_limit = default; SET background_ddl = false")
    client.run(VIEW)
    assert len(client.run("SELECT * FROM m")) == 7


@pytest.mark.parametrize(
    ("sql", "state", "message"),
    [
        ("CANCEL JOBS 7", "42704", "job 7 does not exist"),
        ("CANCEL JOBS x", "22023", 'invalid job id: "x"'),
        ("CANCEL JOBS", "42601", ""),
        ("CANCEL", "42601", ""),
        ("SET backfill_rate_limit = fast", "22023", 'invalid value for parameter "backfill_rate_limit": "fast"'),
        ("SET background_ddl = perhaps", "22023", 'parameter "background_ddl" requires a Boolean value'),
        ("ALTER MATERIALIZED VIEW t SET backfill_rate_limit = 1", "42809", '"t" is not a materialized view'),
        ("ALTER MATERIALIZED VIEW none SET backfill_rate_limit = 1", "42P01", ""),
        ("ALTER SINK s SET backfill_rate_limit = -1", "22023", 'invalid value for backfill_rate_limit: "-1"'),
    ],
)
def test_mistakes(client: Client, sql: str, state: str, message: str) -> None:
    with pytest.raises(SqlError) as caught:
        client.run(sql)
    assert caught.value.sqlstate == state
    assert message in caught.value.message


def test_another_ones_job_is_not_cancelled(client: Client, connect: Connect) -> None:
    client.run("CREATE USER ann; SET background_ddl = true; SET backfill_rate_limit = 0")
    client.run(VIEW)
    [(job_id, *_)] = jobs(client)
    with pytest.raises(SqlError) as caught:
        connect().run(f"SET ROLE ann; CANCEL JOBS {job_id}")
    assert caught.value.sqlstate == "42501"
    assert len(jobs(client)) == 1


def test_changes_meet_a_backfill_that_pauses(client: Client) -> None:
    """A view that has read half of its upstream equals its query in the end, whatever has changed meanwhile."""
    client.run("SET background_ddl = true; SET backfill_rate_limit = 2000")
    client.run(VIEW)
    until(lambda: client.run("SELECT rows_read FROM rw_catalog.rw_ddl_progress WHERE rows_read > 0"))
    client.run("ALTER MATERIALIZED VIEW m SET backfill_rate_limit = 0")
    client.run(f"DELETE FROM t WHERE id % 5 = 0; INSERT INTO t VALUES ({ROWS + 5}, 1)")
    client.run("UPDATE t SET k = 9 WHERE id % 3 = 0; FLUSH")
    client.run("DELETE FROM t WHERE id % 7 = 0; FLUSH")
    assert len(jobs(client)) == 1
    client.run("ALTER MATERIALIZED VIEW m SET backfill_rate_limit = default; WAIT")
    assert sorted(client.run("SELECT * FROM m")) == sorted(client.run("SELECT k, count(*) FROM t GROUP BY k"))
