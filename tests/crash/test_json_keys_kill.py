"""kill -9 while a client writes by keys of jsonb, each time with other digits: nothing is lost, and no key is twice.

The client knows the rows that the server has acknowledged, by what the keys are equal to. The state is read again after
the kill, moved to another number of shards, and read once more.
"""

from __future__ import annotations

import json
import random
import threading
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
from click.testing import CliRunner

from risingpy.cli import main
from risingpy.meta.recovery.check import check
from risingpy.meta.recovery.rescale import rescale
from risingpy.server_process import ServerProcess
from tests.crash.killed_at_work import kill_at_work

KEYS, ENOUGH = 25, 60
VIEWS = {
    "copied": "SELECT j, v FROM t",
    "joined": "SELECT t.j, o.g, o.j AS k, t.v FROM t JOIN o ON t.j = o.j",
    "least": "SELECT j, v FROM t ORDER BY j LIMIT 7",
}
Rows = dict[str, int]


@dataclass
class Writer:
    """`rows` are those of the table, by the texts of their keys without digits that do not count."""

    chance: random.Random
    rows: Rows = field(default_factory=dict)
    under_way: Rows | None = None

    def run(self, server: ServerProcess, enough: threading.Semaphore) -> None:
        done = 0
        try:
            with server.connect() as connection:
                while True:
                    self.one_statement(connection)
                    done += 1
                    if done == ENOUGH:
                        enough.release()
        except psycopg.Error:
            return

    def one_statement(self, connection: psycopg.Connection[Any]) -> None:
        number, v, after = self.chance.randrange(KEYS), self.chance.randrange(1000), dict(self.rows)
        text = written(number, self.chance)
        values: tuple[object, ...]
        match self.chance.randrange(4):
            case 0:
                after.pop(plain(text), None)
                statement, values = "DELETE FROM t WHERE j = %s::jsonb", (text,)
            case 1:
                after.update({plain(text): v} if plain(text) in after else {})
                statement, values = "UPDATE t SET v = %s WHERE j = %s::jsonb", (v, text)
            case _:
                after[plain(text)] = v
                statement, values = (
                    "INSERT INTO t VALUES (%s::jsonb, %s) ON CONFLICT (j) DO UPDATE SET v = excluded.v, j = excluded.j",
                    (text, v),
                )
        self.under_way = after
        connection.execute(statement, values, prepare=True)
        self.rows, self.under_way = after, None
        found = connection.execute("SELECT v FROM t WHERE j = %s::jsonb", (written(number, self.chance),), prepare=True)
        assert found.fetchall() == [(after[plain(text)],) for _ in range(plain(text) in after)]


def written(number: int, chance: random.Random) -> str:
    """The key of a number, one of its texts; some are too long for LMDB, one has 42 bytes as a key."""
    digits = f"{number}{chance.choice(['', '.0', '.000'])}"
    match number % 4:
        case 0:
            return digits
        case 1:
            return f'{{"id": {digits}}}'
        case 2:
            return f'["{"x" * (600 if number > 10 else 24)}", {digits}]'
    return f'[{digits}, "é", null]'


def plain(text: str) -> str:
    """A text that equal keys share."""
    return json.dumps(json.loads(text, parse_float=lambda number: int(Decimal(number))))


def test_rows_by_keys_of_jsonb_outlive_a_kill(tmp_path: Path) -> None:
    directory = tmp_path / "data"
    server = ServerProcess(directory, engine="inprocess")
    writer = Writer(random.Random(7))
    try:
        with server.connect() as connection:
            connection.execute("CREATE TABLE t (j jsonb PRIMARY KEY, v int)")
            connection.execute("CREATE TABLE o (g int, j jsonb, PRIMARY KEY (j, g))")
            connection.execute("CREATE INDEX by_v ON t (v, j DESC)")
            for name, query in VIEWS.items():
                connection.execute(f"CREATE MATERIALIZED VIEW {name} AS {query}")
            for number in range(KEYS):
                connection.execute("INSERT INTO o VALUES (%s, %s)", (number, written(number, writer.chance)))
        kill_at_work(server, [writer])
        server = ServerProcess(directory, engine="inprocess")
        rows = settled(server, writer)
        server.stop()
        assert check(directory).problems == ()
        rescale(directory, 5, print)
        server = ServerProcess(directory, engine="inprocess", parallelism=5)
        assert settled(server, writer) == rows
        server.stop()
        assert CliRunner().invoke(main, ["check", "--data-dir", str(directory)]).exit_code == 0
    finally:
        server.kill()


def settled(server: ServerProcess, writer: Writer) -> list[tuple[Any, ...]]:
    """The rows, once they are those that were acknowledged, or are after the statement that was under way."""
    with server.connect() as connection:
        connection.execute("FLUSH")
        rows = sorted(connection.execute("SELECT j::text, v FROM t").fetchall())
        found = {plain(text): v for text, v in rows}
        assert len(found) == len(rows)
        assert found in (writer.rows, writer.under_way)
        for text, v in rows:
            assert connection.execute("SELECT v FROM t WHERE j = %s", (text,)).fetchall() == [(v,)]
            assert connection.execute("SELECT j::text FROM t WHERE v = %s AND j = %s", (v, text)).fetchall() == [
                (text,)
            ]
        for name, query in VIEWS.items():
            kept = connection.execute(f"SELECT * FROM {name}").fetchall()
            assert sorted(map(str, kept)) == sorted(map(str, connection.execute(query).fetchall())), name
    return rows
