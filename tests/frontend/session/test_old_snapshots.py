"""old_snapshot_threshold: a query that reads an outdated epoch for too long is ended, and no other one is affected."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from risingpy.errors import InvalidParameterValue, SqlError
from tests.frontend.session.conftest import Client

ROWS = 400_000


@pytest.fixture
def reading(client: Client) -> Iterator[Any]:
    """The rows of a SELECT whose first ones have been fetched."""
    client.run("CREATE TABLE t (id INT PRIMARY KEY, n INT)")
    client.run(f"INSERT INTO t SELECT i, 0 FROM generate_series(1, {ROWS}) AS g(i)")
    client.run("FLUSH")
    [statement] = client.session.split("SELECT * FROM t")
    batches = client.session.execute(client.session.prepare(statement, ()), ()).batches
    assert batches is not None
    rest = iter(batches)
    assert next(rest).num_rows
    yield rest
    rest.close()  # type: ignore[attr-defined]


def held(client: Client) -> list[tuple[object, ...]]:
    return client.run("SELECT epoch, outdated_seconds FROM rw_read_views WHERE outdated_seconds > 0")


def wait_until(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)


def test_it_is_cut_and_others_go_on(connect: Callable[[], Client], client: Client, reading: Any) -> None:
    other = connect()
    other.run("UPDATE t SET n = 1 WHERE id < 10")
    other.run("FLUSH")
    assert len(held(other)) == 1
    other.run("ALTER SYSTEM SET old_snapshot_threshold = '100ms'")
    wait_until(lambda: not held(other))
    with pytest.raises(SqlError) as caught:
        for _ in reading:
            pass
    assert (caught.value.sqlstate, caught.value.message) == ("72000", "snapshot too old")
    assert caught.value.hint is not None and "old_snapshot_threshold" in caught.value.hint
    assert other.run("SELECT count(*), sum(n) FROM t") == [(ROWS, 9)]
    client.session.fail()
    assert client.run("SELECT count(*) FROM t") == [(ROWS,)]


def test_the_newest_epoch_may_be_read_for_ever(connect: Callable[[], Client], reading: Any) -> None:
    connect().run("ALTER SYSTEM SET old_snapshot_threshold = '1ms'")
    time.sleep(0.1)
    assert sum(batch.num_rows for batch in reading) > 0


def test_without_a_limit_nothing_is_cut(connect: Callable[[], Client], reading: Any) -> None:
    other = connect()
    other.run("ALTER SYSTEM SET old_snapshot_threshold = -1")
    other.run("DELETE FROM t")
    other.run("FLUSH")
    assert len(held(other)) == 1
    assert sum(batch.num_rows for batch in reading) > 0


@pytest.mark.parametrize(
    ("set_to", "shown"),
    [("'90s'", "90s"), ("'10 min'", "10min"), ("10", "10min"), ("'1d'", "1d"), ("0", "0ms"), ("-1", "-1")],
)
def test_it_is_shown(client: Client, set_to: str, shown: str) -> None:
    client.run(f"ALTER SYSTEM SET old_snapshot_threshold TO {set_to}")
    value = "SELECT value FROM rw_catalog.rw_system_parameters WHERE name = 'old_snapshot_threshold'"
    assert client.run(value) == [(shown,)]
    client.run("ALTER SYSTEM SET old_snapshot_threshold TO DEFAULT")
    assert client.run(value) == [("3h",)]


@pytest.mark.parametrize("value", ["'soon'", "'1 fortnight'", "-2"])
def test_what_it_cannot_be(client: Client, value: str) -> None:
    with pytest.raises(InvalidParameterValue) as caught:
        client.run(f"ALTER SYSTEM SET old_snapshot_threshold TO {value}")
    assert caught.value.hint is not None
