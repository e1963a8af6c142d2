"""What ordinary clients do to a server all day, mistakes and broken connections included."""

from __future__ import annotations

import contextlib
import random
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import psycopg

from tests.consistency.histories import Connection

ROWS = 2_000  # keys of the table that all share: what is there is bounded
SETUP = """
CREATE TABLE shared (id int PRIMARY KEY, owner int, v bigint, told varchar);
CREATE INDEX shared_owner ON shared (owner);
CREATE MATERIALIZED VIEW by_owner AS SELECT owner, count(*) AS n, sum(v) AS s FROM shared GROUP BY owner;
CREATE MATERIALIZED VIEW largest AS SELECT id, v FROM shared ORDER BY v DESC LIMIT 10;
CREATE MATERIALIZED VIEW pairs AS SELECT a.id, b.v FROM shared a JOIN shared b ON a.id = b.id + 1
"""
_LONG = (
    "SELECT count(*) FROM generate_series(1, 3000) a(x), generate_series(1, 3000) b(y), shared c WHERE x * y % 7 = c.v"
)


@dataclass(slots=True)
class Told:
    """What all clients did, and the errors that none had asked for."""

    acts: Counter[str] = field(default_factory=Counter)
    errors: list[str] = field(default_factory=list)


class MixedClient(threading.Thread):
    """Does one act after the other, with pauses, until it is told to stop."""

    def __init__(self, connect: Callable[[], Connection], told: Told, number: int, *, pause: float) -> None:
        """`pause`: the mean time between two acts, in seconds."""
        super().__init__(daemon=True)
        self._connect = connect
        self._told = told
        self._number = number
        self._pause = pause
        self._random = random.Random(number)
        self.stopping = threading.Event()

    def run(self) -> None:
        while not self.stopping.is_set():
            try:
                with self._connect() as connection:
                    self._serve(connection)
            except Exception as error:
                self._told.errors.append(f"{type(error).__name__}: {error}")

    def _serve(self, connection: Connection) -> None:
        for _ in range(self._random.randrange(5, 60)):  # then it connects anew
            if self.stopping.wait(self._random.expovariate(1 / self._pause)):
                return
            act = self._random.choice(ACTS)
            self._told.acts[act.__name__] += 1
            act(self, connection)
            if connection.closed:
                return

    def _key(self) -> int:
        return self._random.randrange(ROWS)

    def point_read(self, connection: Connection) -> None:
        connection.execute("SELECT v FROM shared WHERE id = %s", [self._key()]).fetchall()

    def upsert(self, connection: Connection) -> None:
        row = [self._key(), self._number, self._random.randrange(10**6), "x" * self._random.randrange(200)]
        sql = "INSERT INTO shared VALUES (%s, %s, %s, %s) ON CONFLICT (id) DO UPDATE SET v = excluded.v"
        connection.execute(sql, row)

    def update(self, connection: Connection) -> None:
        connection.execute("UPDATE shared SET v = v + 1 WHERE id = %s", [self._key()])

    def delete(self, connection: Connection) -> None:
        connection.execute("DELETE FROM shared WHERE id = %s", [self._key()])

    def read_view(self, connection: Connection) -> None:
        connection.execute("SELECT * FROM by_owner ORDER BY n DESC LIMIT 5").fetchall()

    def scan(self, connection: Connection) -> None:
        connection.execute("SELECT told, count(*) FROM shared WHERE v > 1000 GROUP BY told").fetchall()

    def copy_in(self, connection: Connection) -> None:
        first = self._random.randrange(ROWS - 100)
        with connection.cursor() as cursor, cursor.copy("COPY shared FROM STDIN") as copy:
            for key in range(first, first + 100):
                copy.write_row((key, self._number, key, "copied"))

    def roll_back(self, connection: Connection) -> None:
        with connection.transaction(force_rollback=True):
            connection.execute("UPDATE shared SET v = -1 WHERE owner = %s", [self._number])
            connection.execute("SELECT count(*) FROM shared WHERE v = -1").fetchone()

    def half_a_cursor(self, connection: Connection) -> None:
        with connection.transaction(), connection.cursor(name="half") as cursor:
            cursor.execute("SELECT * FROM shared")
            cursor.fetchmany(7)

    def passing_table(self, connection: Connection) -> None:
        connection.execute("CREATE TEMPORARY TABLE passing (k int PRIMARY KEY, v int)")
        connection.execute("INSERT INTO passing SELECT x, x FROM generate_series(1, 50) AS s(x)")
        connection.execute("DROP TABLE passing")

    def passing_view(self, connection: Connection) -> None:
        name = f"passing_{self._number}"
        connection.execute(
            f"CREATE MATERIALIZED VIEW {name} AS SELECT owner, max(v) FROM shared GROUP BY owner".encode()
        )
        connection.execute(f"DROP MATERIALIZED VIEW {name}".encode())

    def mistake(self, connection: Connection) -> None:
        sql, expected = self._random.choice(MISTAKES)
        try:
            connection.execute(sql.encode())
        except expected:
            return
        self._told.errors.append(f"{sql} answered")

    def times_out(self, connection: Connection) -> None:
        connection.execute("SET statement_timeout TO 100")
        with contextlib.suppress(psycopg.errors.QueryCanceled):
            connection.execute(_LONG)
        while True:  # on a busy machine RESET takes so long, too
            with contextlib.suppress(psycopg.errors.QueryCanceled):
                connection.execute("RESET statement_timeout")
                return

    def is_cancelled(self, connection: Connection) -> None:
        timer = threading.Timer(0.2, connection.cancel)
        timer.start()
        with contextlib.suppress(psycopg.errors.QueryCanceled):
            connection.execute(_LONG)
        timer.join()
        with contextlib.suppress(psycopg.errors.QueryCanceled):  # the request may come late
            connection.execute("SELECT 1")

    def hangs_up(self, connection: Connection) -> None:
        connection.pgconn.send_query(_LONG.encode())
        connection.pgconn.flush()
        connection.pgconn.finish()


ACTS = (
    *(MixedClient.point_read, MixedClient.upsert, MixedClient.update, MixedClient.read_view) * 6,
    *(MixedClient.delete, MixedClient.copy_in, MixedClient.scan, MixedClient.roll_back, MixedClient.half_a_cursor),
    *(MixedClient.passing_table, MixedClient.passing_view, MixedClient.mistake),
    *(MixedClient.times_out, MixedClient.is_cancelled, MixedClient.hangs_up),
)
MISTAKES = (
    ("SELECT 1 / (SELECT 0)", psycopg.errors.DivisionByZero),
    ("SELEC 1", psycopg.errors.SyntaxError),
    ("SELECT nothing FROM shared", psycopg.errors.UndefinedColumn),
    ("INSERT INTO shared VALUES ('x')", psycopg.errors.InvalidTextRepresentation),
    ("DROP TABLE shared", psycopg.errors.DependentObjectsStillExist),
)
