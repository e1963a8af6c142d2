"""Many open cursors: the rows of most wait in files, no query stays open for them, and each gives its own rows."""

from __future__ import annotations

from collections.abc import Callable
from tempfile import TemporaryFile
from typing import IO

import pyarrow as pa
import pytest

from risingpy.errors import SqlError
from risingpy.frontend.portals import RowStream
from risingpy.meta.database import Database
from tests.frontend.session.conftest import Client

CURSORS, MOST_OPEN = 40, 9


def _open_queries(database: Database) -> int:
    return sum(instance.users for instance in database.query_engines._instances)


@pytest.mark.parametrize("scroll", ["", "SCROLL"])
def test_many_cursors(client: Client, database: Database, scroll: str) -> None:
    client.run("BEGIN")
    for k in range(CURSORS):
        query = f"SELECT n + {k}, repeat('x', 50) || n FROM generate_series(1, 20000) AS g(n) ORDER BY n DESC"
        client.run(f"DECLARE c{k} {scroll} CURSOR FOR {query}")
        assert [row[0] for row in client.run(f"FETCH 2 FROM c{k}")] == [20_000 + k, 19_999 + k]
        assert _open_queries(database) <= MOST_OPEN
    for k in range(0, CURSORS, 7):
        rows = client.run(f"FETCH ALL FROM c{k}")
        assert [row[0] for row in rows] == list(range(19_998 + k, k, -1))
        assert rows[-1][1] == "x" * 50 + "1"
    if scroll:
        assert client.run("FETCH ABSOLUTE 1 FROM c39") == [(20_039, "x" * 50 + "20000")]
        assert [row[0] for row in client.run("FETCH BACKWARD 1 FROM c7")] == [8]
    client.run("COMMIT")
    assert _open_queries(database) == 0


def test_an_error_comes_after_the_rows_before_it(client: Client) -> None:
    client.run("BEGIN")
    for k in range(MOST_OPEN + 3):
        client.run(f"DECLARE c{k} CURSOR FOR SELECT 10 / (300000 - n) FROM generate_series(1, 400000) AS g(n)")
        assert client.run(f"FETCH 1 FROM c{k}") == [(0,)]
    assert len(client.run(f"FETCH 1000 FROM c{MOST_OPEN + 2}")) == 1000
    with pytest.raises(SqlError) as raised:
        client.run(f"FETCH ALL FROM c{MOST_OPEN + 2}")
    assert raised.value.sqlstate == "22012"


def _batches(count: int) -> list[pa.RecordBatch]:
    return [pa.record_batch({"c0": list(range(10 * k, 10 * k + 10))}) for k in range(count)]


@pytest.mark.parametrize("crowded", [False, True])
def test_rows_are_the_same_from_a_file(crowded: bool) -> None:
    files: list[IO[bytes]] = []

    def file() -> IO[bytes] | None:
        files.append(TemporaryFile())  # noqa: SIM115 - the rows close it
        return files[-1]

    never: Callable[[], None] = lambda: None  # noqa: E731
    stream = RowStream(iter(_batches(5)), file if crowded else never)
    taken: list[int] = []
    for limit in (3, 0, 7, 12, 1, None):
        taken += [value for part in stream.take(limit) for value in part.column(0).to_pylist()]
    assert taken == list(range(50)) and stream.at_end and stream.place == 51
    assert len(files) == crowded and all(each.closed for each in files)


def test_a_closed_portal_closes_its_file() -> None:
    files = [TemporaryFile()]  # noqa: SIM115
    stream = RowStream(iter(_batches(5)), lambda: files[0])
    list(stream.take(3))
    assert not files[0].closed
    stream.close()
    assert files[0].closed
