"""Columns of a relation as they are: which rows come, of tables of several pages, with bounds and own changes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from risingpy.batch.runner import ROWS_PER_TEXT_BATCH
from risingpy.errors import SqlError
from risingpy.types import BIGINT
from tests.batch.conftest import opened
from tests.frontend.session.conftest import Client

ROWS = 70_000  # more than a page of a shard has


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with opened(tmp_path_factory.mktemp("copied") / "data", parallelism=1) as (_, client):
        client.run("CREATE TABLE many (id INT PRIMARY KEY, s VARCHAR)")
        client.run(f"INSERT INTO many SELECT i, i::varchar FROM generate_series(1, {ROWS}) i")
        client.run("CREATE TABLE few (id INT PRIMARY KEY, g INT, n NUMERIC)")
        client.run("CREATE INDEX by_g ON few (g)")
        client.run("INSERT INTO few VALUES (1, 1, 1.50), (2, 1, 2), (3, NULL, NULL), (4, 2, 1e30)")
        yield client


def test_all_rows_of_several_pages(client: Client) -> None:
    assert sorted(client.run("SELECT id FROM many")) == [(i,) for i in range(1, ROWS + 1)]
    assert {(s, i) for s, i, again in client.run("SELECT s, id, id FROM many") if i == again and s == str(i)} == {
        (str(i), i) for i in range(1, ROWS + 1)
    }


@pytest.mark.parametrize("limit", [0, 1, ROWS_PER_TEXT_BATCH, ROWS_PER_TEXT_BATCH + 1, ROWS - 1, ROWS, ROWS + 1])
@pytest.mark.parametrize("offset", [0, 5, ROWS_PER_TEXT_BATCH, ROWS - 2, ROWS + 9])
def test_limit_and_offset(client: Client, limit: int, offset: int) -> None:
    rows = client.run("SELECT s FROM many LIMIT $1 OFFSET $2", limit, offset, oids=(BIGINT.oid,) * 2)
    assert len(rows) == len(set(rows)) == max(0, min(limit, ROWS - offset))


def test_bounds_that_are_null_or_negative(client: Client) -> None:
    oids = (BIGINT.oid,) * 2
    assert len(client.run("SELECT id FROM few LIMIT $1 OFFSET $2", None, None, oids=oids)) == 4
    for bounds, state in (((-1, 0), "2201W"), ((1, -1), "2201X")):
        with pytest.raises(SqlError) as raised:
            client.run("SELECT id FROM few LIMIT $1 OFFSET $2", *bounds, oids=oids)
        assert raised.value.sqlstate == state


def test_rows_of_an_index(client: Client) -> None:
    assert sorted(client.run("SELECT id, n::text FROM few WHERE g = 1")) == [(1, "1.50"), (2, "2")]
    assert sorted(client.run("SELECT id FROM few WHERE g = 1")) == [(1,), (2,)]
    for value, found in ((2, [(4,)]), (9, []), (None, []), (1 << 40, [])):
        assert client.run("SELECT id FROM few WHERE g = $1", value, oids=(BIGINT.oid,)) == found


def test_own_changes_come_too(client: Client) -> None:
    client.run("BEGIN")
    client.run("INSERT INTO few VALUES (5, 1, 5)")
    client.run("DELETE FROM few WHERE id = 1")
    assert sorted(client.run("SELECT id FROM few")) == [(2,), (3,), (4,), (5,)]
    assert sorted(client.run("SELECT id FROM few WHERE g = 1")) == [(2,), (5,)]
    client.run("ROLLBACK")
    assert len(client.run("SELECT id FROM few")) == 4
