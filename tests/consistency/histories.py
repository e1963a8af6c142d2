"""What many connections did to a few keys, and what it must have been: each key is linearizable, and relations agree.

A counter has every increment that was acknowledged, once.
"""

from __future__ import annotations

import contextlib
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf

import psycopg

from tests.consistency.linearizability import Operation, is_linearizable

Connection = psycopg.Connection[tuple[object, ...]]

KEYS = (1, 2, 3)
SETUP = """
CREATE TABLE register (id int PRIMARY KEY, v int);
CREATE MATERIALIZED VIEW mirror AS SELECT id, v, v + 1 AS next FROM register;
CREATE TABLE account (id int PRIMARY KEY, amount int);
CREATE MATERIALIZED VIEW total AS SELECT sum(amount) AS amount FROM account;
INSERT INTO account VALUES (1, 0), (2, 0), (3, 0);
CREATE TABLE counter (id int PRIMARY KEY, n int);
INSERT INTO counter VALUES (1, 0)
"""
READS = (
    "SELECT v FROM register WHERE id = {key}",
    "SELECT next - 1 FROM mirror WHERE id = {key}",
    "SELECT r.v, m.v FROM register r FULL JOIN mirror m ON r.id = m.id WHERE coalesce(r.id, m.id) = {key}",
)
TOTALS = "SELECT (SELECT sum(amount) FROM account), (SELECT amount FROM total)"


@dataclass(slots=True)
class History:
    """What all clients did to each key, and what they saw that no snapshot may show."""

    operations: dict[int, list[Operation]] = field(default_factory=lambda: {key: [] for key in KEYS})
    torn: list[object] = field(default_factory=list)
    next_value: int = 0
    counted: list[int] = field(default_factory=list)  # what each answered increment of the counter gave
    unanswered: int = 0
    guard: threading.Lock = field(default_factory=threading.Lock)

    def fresh(self) -> int:
        """A value that is written only once."""
        with self.guard:
            self.next_value += 1
            return self.next_value

    def add(self, key: int, operation: Operation) -> None:
        with self.guard:
            self.operations[key].append(operation)

    def answered(self) -> int:
        """How many operations have been answered."""
        with self.guard:
            return sum(each.end < inf for operations in self.operations.values() for each in operations)

    def grow(self, operations: int, seconds: float) -> None:
        """Waits until so many more are answered. They must be within so many seconds."""
        wanted, deadline = self.answered() + operations, time.monotonic() + seconds
        while self.answered() < wanted:
            assert time.monotonic() < deadline, "the server answers too little"
            time.sleep(0.02)

    def check(self, counter: int) -> None:
        """Asserts that all of it can have happened; `counter` is what the counter has in the end."""
        assert self.torn == []
        assert len(set(self.counted)) == len(self.counted), "two increments gave one number"
        assert 0 <= counter - len(self.counted) <= self.unanswered
        for key, operations in self.operations.items():
            assert is_linearizable(operations), key


class HistoryClient(threading.Thread):
    """Reads and writes until it is told to stop; connects again when the server is back."""

    def __init__(self, connect: Callable[[], Connection], history: History, seed: int) -> None:
        super().__init__(daemon=True)
        self._connect = connect
        self._history = history
        self._random = random.Random(seed)
        self.stopping = threading.Event()

    def run(self) -> None:
        while not self.stopping.is_set():
            with contextlib.suppress(psycopg.OperationalError), self._connect() as connection:
                while not self.stopping.is_set():
                    self._step(connection)
            time.sleep(0.02)  # the server starts again

    def _step(self, connection: Connection) -> None:
        chance = self._random.random()
        key = self._random.choice(KEYS)
        if chance < 0.3:
            value = self._history.fresh()
            self._write(connection, key, value, f"INSERT INTO register VALUES ({key}, {value})")
        elif chance < 0.35:
            self._write(connection, key, None, f"DELETE FROM register WHERE id = {key}")
        elif chance < 0.45:
            self._transfer(connection)
        elif chance < 0.55:
            self._count(connection)
        elif chance < 0.65:
            self._agree(connection.execute(TOTALS).fetchone())
        else:
            self._read(connection, key)

    def _write(self, connection: Connection, key: int, value: int | None, sql: str) -> None:
        start, end = time.monotonic(), inf
        try:
            connection.execute(sql.encode())
            end = time.monotonic()
        finally:
            self._history.add(key, Operation(True, value, start, end))

    def _count(self, connection: Connection) -> None:
        try:
            row = connection.execute("UPDATE counter SET n = n + 1 WHERE id = 1 RETURNING n").fetchone()
        except psycopg.OperationalError:
            with self._history.guard:
                self._history.unanswered += 1
            raise
        assert row is not None
        with self._history.guard:
            self._history.counted.append(int(str(row[0])))

    def _read(self, connection: Connection, key: int) -> None:
        start = time.monotonic()
        rows = connection.execute(self._random.choice(READS).format(key=key).encode()).fetchall()
        end = time.monotonic()
        row = rows[0] if rows else (None,)
        self._agree(row)
        self._history.add(key, Operation(False, row[0], start, end))

    def _agree(self, row: tuple[object, ...] | None) -> None:
        if row is None or len(set(row)) > 1:
            self._history.torn.append(row)

    def _transfer(self, connection: Connection) -> None:
        giver, taker = self._random.sample((1, 2, 3), 2)
        try:
            with connection.transaction():
                connection.execute("UPDATE account SET amount = amount - 5 WHERE id = %s", [giver])
                connection.execute("UPDATE account SET amount = amount + 5 WHERE id = %s", [taker])
        except psycopg.errors.DeadlockDetected:
            return
        row = connection.execute(TOTALS).fetchone()
        if row != (0, 0):
            self._history.torn.append(row)
