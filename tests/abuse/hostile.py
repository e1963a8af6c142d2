"""What hostile clients do: each function is one act, of a few seconds at most, and leaves a closed socket alone."""

from __future__ import annotations

import contextlib
import random
import socket
import struct
import threading
from collections.abc import Callable
from dataclasses import dataclass

import psycopg

PATIENCE = "2s"  # after which the server is asked to give up
_STARTUP = b"\0\3\0\0user\0root\0database\0dev\0\0"

HEAVY = (
    "SELECT count(*) FROM generate_series(1, 1000000000)",
    "SELECT max(x) FROM (SELECT x FROM generate_series(1, 50000000) AS s(x) ORDER BY x % 1000003) AS t",
    "SELECT count(*) FROM generate_series(1, 1000000) AS a, generate_series(1, 1000000) AS b WHERE a + b = 7",
    "SELECT count(*) FROM (SELECT DISTINCT md5(x::text) FROM generate_series(1, 20000000) AS s(x)) AS t",
    "SELECT length(repeat('x', 1000000000))",
    "SELECT max(length(repeat('x', 1000000 + x))) FROM generate_series(1, 3000) AS s(x)",
    "SELECT length(lpad('x', 1000000000, 'yz'))",
    "SELECT array_fill(1, array[100000000])",
    "SELECT string_agg(x || repeat('y', 1000), ',') FROM generate_series(1, 10000000) AS s(x)",
    "SELECT array_agg(x) FROM generate_series(1, 1000000000) AS s(x)",
    "SELECT length(replace(repeat('a', 100000), 'a', repeat('b', 20000)))",
    "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT count(*) FROM r",
    "WITH RECURSIVE r(s) AS (SELECT 'x' UNION ALL SELECT s || s FROM r) SELECT max(length(s)) FROM r",
    "SELECT count(*) FROM generate_series('2000-01-01'::timestamptz, '9000-01-01', '1 hour'::interval + '1 min')",
    "SELECT count(*) FROM generate_series(1.0, 100000000.0)",
    "INSERT INTO victims SELECT x, repeat('x', 1000) FROM generate_series(1, 10000000) AS s(x)",
    "SELECT pg_sleep(60)",
)
PATTERNS = (
    "SELECT regexp_match(repeat('a', 50) || '!', '(a+)+$')",
    "SELECT regexp_replace(repeat('a', 100000), '(a)*b\\1', 'x')",
    "SELECT repeat('ab', 20000) LIKE '%a%b%a%b%a%b%c'",
    "SELECT regexp_split_to_array(repeat('x', 50000), '(x|xx)+y')",
)
Act = Callable[["Target", random.Random], None]


@dataclass(frozen=True, slots=True)
class Target:
    """A server that is to be abused."""

    host: str
    port: int

    def connect(self) -> psycopg.Connection[tuple[object, ...]]:
        connection = psycopg.connect(host=self.host, port=self.port, user="root", dbname="dev", autocommit=True)
        connection.execute(f"SET statement_timeout = '{PATIENCE}'")
        return connection

    def socket(self) -> socket.socket:
        return socket.create_connection((self.host, self.port), timeout=5)


def heavy_query(target: Target, chance: random.Random) -> None:
    with target.connect() as connection:
        connection.execute(chance.choice(HEAVY))


def costly_pattern(target: Target, chance: random.Random) -> None:
    with target.connect() as connection:
        connection.execute(chance.choice(PATTERNS))


def cancelled_query(target: Target, chance: random.Random) -> None:
    """Cancelled in whatever phase it is then."""
    with target.connect() as connection:
        timer = threading.Timer(chance.uniform(0, 0.5), connection.cancel)
        timer.start()
        try:
            connection.execute(chance.choice(HEAVY))
        finally:
            timer.cancel()
            timer.join()


def lost_client(target: Target, chance: random.Random) -> None:
    """Asks for many rows, reads a few, and goes."""
    with target.socket() as connection:
        _send(connection, b"", _STARTUP)
        connection.recv(4096)
        _send(connection, b"Q", b"SELECT x, repeat('x', 100) FROM generate_series(1, 100000000) AS s(x)\0")
        connection.recv(1 << 16)


def half_open(target: Target, chance: random.Random) -> None:
    """Begins a message and does not go on."""
    with target.socket() as connection:
        if chance.random() < 0.5:
            _send(connection, b"", _STARTUP)
        connection.sendall(struct.pack("!I", 1000) + b"abc")
        connection.settimeout(chance.uniform(0.1, 1.0))
        with contextlib.suppress(TimeoutError):
            connection.recv(4096)


def broken_message(target: Target, chance: random.Random) -> None:
    with target.socket() as connection:
        _send(connection, b"", _STARTUP)
        connection.recv(4096)
        connection.sendall(chance.choice([b"Q", b"P", b"B", b"E", b"\xff", b"d"]) + chance.randbytes(200))
        connection.settimeout(1.0)
        with contextlib.suppress(TimeoutError):
            connection.recv(4096)


def huge_text(target: Target, chance: random.Random) -> None:
    size = chance.choice([1_000_000, 20_000_000])
    with target.connect() as connection:
        connection.execute(chance.choice([
            f"SELECT length('{'x' * size}')",
            f"SELECT {'9' * 10_000}",
            f"SELECT {', '.join(map(str, range(1600)))}",
            f"INSERT INTO victims VALUES {', '.join(f'({n}, NULL)' for n in range(20_000))}",
        ]))  # fmt: skip


def python_function(target: Target, chance: random.Random) -> None:
    body = chance.choice(["while True: pass", "raise SystemExit", "import os; os._exit(1)", "print('x' * 10**6)"])
    with target.connect() as connection:
        name = f"f{chance.getrandbits(40)}"
        text = f"CREATE FUNCTION {name}(a INT) RETURNS INT LANGUAGE python AS $$def {name}(a):\n    {body}$$"
        connection.execute(text)
        try:
            connection.execute(f"SELECT {name}(1)")
        finally:
            connection.execute(f"DROP FUNCTION {name}")


def hostile_view(target: Target, chance: random.Random) -> None:
    """A view of random shape, fan-out and size, which is created or not, lives for a moment and is dropped."""
    name = f"v{chance.getrandbits(40)}"
    with target.connect() as connection:
        connection.execute(f"SET statement_timeout = '{chance.choice([1, 3, 10])}s'")
        try:
            connection.execute(f"CREATE MATERIALIZED VIEW {name} AS {random_view(chance)}")
            connection.execute(
                f"INSERT INTO fuel SELECT x, x % 7 FROM generate_series({chance.randrange(2000)}, 2005) x"
            )
            connection.execute(f"SELECT count(*) FROM {name}")
            connection.execute("DELETE FROM fuel WHERE k > 1500")
        finally:
            connection.execute("SET statement_timeout = '30s'")
            connection.execute(f"DROP MATERIALIZED VIEW IF EXISTS {name}")


def random_view(chance: random.Random) -> str:
    """The query of a view over `fuel` that takes long, much memory, or both: most of them for some of its rows only."""
    size = chance.choice([10, 1_000, 100_000, 1_000_000])
    return chance.choice([
        f"SELECT * FROM (VALUES {', '.join(f'({n}, {n})' for n in range(min(size, 50_000)))}) t(a, b)",
        f"SELECT g, array_agg(repeat('x', {size})) FROM fuel GROUP BY g",
        f"SELECT g, string_agg(repeat('x', {min(size, 100_000)}), ',') FROM fuel GROUP BY g",
        "SELECT count(*) FROM fuel a, fuel b WHERE a.k + b.k % 13 <> a.g",
        f"SELECT a.k, b.k AS l, repeat('x', {min(size, 1_000)}) FROM fuel a JOIN fuel b ON a.g = b.g",
        "SELECT count(*) FROM fuel a, fuel b, fuel c WHERE a.k < b.k AND b.k < c.k",
        f"SELECT k, x FROM fuel, generate_series(1, {size}) AS s(x)",
        f"SELECT max(length(replace(repeat('a', {size}), 'a', repeat('b', 100)))) FROM fuel",
        "SELECT k, rank() OVER (ORDER BY g), sum(k) OVER (PARTITION BY g ORDER BY k) FROM fuel",
        "SELECT g, count(*) FILTER (WHERE k::text ~ '(.*)*9$') FROM fuel GROUP BY g",
        f"SELECT k, unnest(string_to_array(repeat('a,', {size}), ',')) FROM fuel",
        f"SELECT sum(length(md5(repeat(k::text, {min(size, 100_000)})))) FROM fuel",
    ])  # fmt: skip


ACTS: tuple[Act, ...] = (
    heavy_query, heavy_query, heavy_query, costly_pattern, cancelled_query, lost_client, half_open, broken_message,
    huge_text, python_function, hostile_view, hostile_view, hostile_view, hostile_view,
)  # fmt: skip


def _send(connection: socket.socket, kind: bytes, body: bytes) -> None:
    connection.sendall(kind + struct.pack("!I", len(body) + 4) + body)
