"""Columns whose type was changed keep their values through restarts, compactions, checks and further changes.

What each change of type makes of a value is in the suites `alter/type_matrix.slt` and `alter/type_structs.slt`.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from risingpy.meta.recovery.check import check
from tests.meta.conftest import Client, Server

COLUMNS = {
    "a": ("struct<u int, v double precision>", "row({}, 2.5)", "struct<v double precision, w varchar>"),
    "b": ("struct<u int, v int>[]", "array[row({}, 2), NULL]", "struct<v int, w varchar>[]"),
    "c": (
        "map(varchar, struct<u int, v int>)",
        "map {{'k': row(1, {})::struct<u int, v int>}}",
        "map(varchar, struct<w int, v int>)",
    ),
    "d": ("int[]", "array[{}, NULL]", "bigint[]"),
    "e": ("map(varchar, int)", "map {{'k': {}}}", "map(varchar, bigint)"),
    "f": ("numeric(10,4)", "{}.25", "varchar"),
    "g": ("timestamp", "timestamp '2020-02-01' + interval '{} hours'", "timestamptz"),
    "h": ("int[][]", "array[array[{}]]", "bigint[][]"),
}
ROWS = 300


@pytest.fixture
def client(server: Server) -> Client:
    client = server.client()
    definitions = ", ".join(f"{name} {before}" for name, (before, _, _) in COLUMNS.items())
    client.run(f"CREATE TABLE t (id int PRIMARY KEY, gone varchar, {definitions})")
    values = [f"({k}, 'x', {', '.join(COLUMNS[n][1].format(k) for n in COLUMNS)})" for k in range(ROWS)]
    client.run(f"INSERT INTO t VALUES {', '.join(values)}")
    client.run(f"INSERT INTO t (id) VALUES ({ROWS})")
    return client


def expected(key: int) -> tuple[Any, ...]:
    hour = f"2020-02-{1 + key // 24:02} {key % 24:02}:00:00+00:00"
    return (
        *(key, f"({2.5},)", '{"(2,)",NULL}', f"{{k:(,{key})}}", f"{{{key},NULL}}", f"{{k:{key}}}", f"{key}.2500"),
        *(hour.replace("+00:00", "+00"), f"{{{{{key}}}}}"),
    )


def check_rows(client: Client) -> None:
    texts = ", ".join(f"{name}::varchar" for name in COLUMNS)
    rows = sorted(client.run(f"SELECT id, {texts} FROM t"))
    assert rows[:-1] == [expected(key) for key in range(ROWS)]
    assert rows[-1] == (ROWS, *[None] * len(COLUMNS))
    assert client.run(f"SELECT id, {texts} FROM t WHERE id = 7") == [expected(7)]


def alter(client: Client) -> None:
    for name, (_, _, after) in COLUMNS.items():
        client.run(f"ALTER TABLE t ALTER COLUMN {name} TYPE {after}")


def check_directory(server: Server, data_dir: Path) -> None:
    server.stop()
    report = check(data_dir)
    assert report.problems == ()
    server.start()


def test_rows_outlive_a_restart_and_are_sound(server: Server, client: Client, tmp_path: Path) -> None:
    alter(client)
    check_rows(client)
    check_directory(server, tmp_path / "data")
    check_rows(server.client())


def test_rows_outlive_a_compaction(server: Server, client: Client, tmp_path: Path) -> None:
    alter(client)
    client.run("ALTER TABLE t DROP COLUMN gone")
    deadline = time.monotonic() + 30
    while server.database.reads.state.compactions:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    check_rows(client)
    check_directory(server, tmp_path / "data")
    check_rows(server.client())


def test_views_begin_with_rows_of_before_and_follow(server: Server, client: Client) -> None:
    alter(client)
    texts = ", ".join(f"{name}::varchar AS {name}" for name in COLUMNS)
    client.run(f"CREATE MATERIALIZED VIEW m AS SELECT id, {texts} FROM t")
    client.run("UPDATE t SET d = array_append(d, 9), (a, e) = (row(1, 'w'), map {'k': 10000000000}) WHERE id < 5")
    client.run("DELETE FROM t WHERE id BETWEEN 5 AND 9")
    assert sorted(client.run("SELECT * FROM m")) == sorted(client.run(f"SELECT id, {texts} FROM t"))
    assert client.run("SELECT a, d, e FROM m WHERE id = 3") == [("(1,w)", "{3,NULL,9}", "{k:10000000000}")]
