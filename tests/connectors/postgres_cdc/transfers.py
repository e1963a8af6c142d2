"""A bank upstream: random transactions move money between two tables, and each writes to a journal, too.

Whoever sees whole transactions sees the same total always, and as much in the journal as in the accounts.
"""

from __future__ import annotations

import random
import threading
import time
from typing import Any

import psycopg

from tests.connectors.postgres_cdc.upstream import Upstream

ACCOUNTS, TOTAL = 40, 40 * 2 * 100
TABLES = ("current_accounts", "savings", "journal")
VIEW = """
    CREATE MATERIALIZED VIEW balance AS
    SELECT c.total + s.total AS total, c.moved + s.moved AS moved, j.moved AS noted FROM
      (SELECT sum(amount) AS total, sum(moves) AS moved FROM current_accounts) c,
      (SELECT sum(amount) AS total, sum(moves) AS moved FROM savings) s,
      (SELECT count(*) * 2 AS moved FROM journal) j
"""


def make_bank(upstream: Upstream) -> None:
    for name in TABLES[:2]:
        upstream.run(f"CREATE TABLE {name} (id int PRIMARY KEY, amount bigint, moves bigint, note text)")
        upstream.run(f"INSERT INTO {name} SELECT g, 100, 0, 'new' FROM generate_series(1, {ACCOUNTS}) g")
    upstream.run("CREATE TABLE journal (id bigserial PRIMARY KEY, amount bigint, note text)")


class Transfers(threading.Thread):
    """Writes until it is told to stop. Some transactions are large, some are rolled back, some delete rows."""

    def __init__(self, upstream: Upstream, seed: int) -> None:
        super().__init__(daemon=True)
        self._upstream = upstream
        self._chance = random.Random(seed)
        self._stopping = threading.Event()
        self.transactions = 0

    def run(self) -> None:
        with self._upstream.connect() as connection:
            while not self._stopping.is_set():
                self._transaction(connection)
                self.transactions += 1
                time.sleep(self._chance.choice((0.0, 0.0, 0.001, 0.02)))

    def stop(self) -> None:
        self._stopping.set()
        self.join(30)
        assert not self.is_alive()

    def _transaction(self, connection: psycopg.Connection[tuple[Any, ...]]) -> None:
        chance = self._chance
        with connection.transaction(force_rollback=chance.random() < 0.1):
            for _ in range(chance.choice((1, 1, 1, 3, 50))):
                amount = chance.randrange(1, 50)
                for name, sign in zip(chance.sample(TABLES[:2], 2), (1, -1), strict=True):
                    note, account = "n" * chance.randrange(200), chance.randrange(1, ACCOUNTS + 1)
                    change = f"UPDATE {name} SET amount = amount + %s, moves = moves + 1, note = %s WHERE id = %s"
                    connection.execute(change, (sign * amount, note, account))
                connection.execute("INSERT INTO journal (amount, note) VALUES (%s, 'x')", (amount,))
            if chance.random() < 0.1:
                one = chance.randrange(1, ACCOUNTS + 1)
                connection.execute("DELETE FROM savings WHERE id = %s", (-one,))
                connection.execute("INSERT INTO savings SELECT -id, 0, 0, note FROM savings WHERE id = %s", (one,))
