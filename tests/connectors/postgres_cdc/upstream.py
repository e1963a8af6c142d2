"""A database of the test run's PostgreSQL, and what tests ask of it and of its copies."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Any

import psycopg

from tests.meta.conftest import Client, Server
from tests.postgres_oracle import PostgresOracle

_NUMBERS = count(1)
SECONDS = 60.0


@dataclass
class Upstream:
    """A database of its own, so that its slots and publications are, too."""

    server: PostgresOracle
    name: str

    @classmethod
    def create(cls, server: PostgresOracle) -> Upstream:
        name = f"upstream_{next(_NUMBERS)}_{time.time_ns()}"
        with server.connect() as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return cls(server, name)

    def connect(self) -> psycopg.Connection[tuple[Any, ...]]:
        return psycopg.connect(
            host=str(self.server.directory), port=self.server.port, user="postgres", dbname=self.name, autocommit=True
        )

    def run(self, sql: str) -> list[tuple[Any, ...]]:
        with self.connect() as connection:
            cursor = connection.execute(sql)
            return cursor.fetchall() if cursor.description is not None else []

    @property
    def slot(self) -> str:
        return f"slot_{self.name[9:]}"

    def source(self, name: str = "pg", **more: str) -> str:
        """The CREATE SOURCE statement."""
        options = {
            "connector": "postgres-cdc",
            "hostname": str(self.server.directory),
            "port": str(self.server.port),
            "username": "postgres",
            "database.name": self.name,
            "slot.name": self.slot,
            "publication.name": "published",
            **{key.replace("__", "."): value for key, value in more.items()},
        }
        shown = ", ".join(f"{key} = '{value}'" for key, value in options.items())
        return f"CREATE SOURCE {name} WITH ({shown})"

    def slots(self) -> list[str]:
        return [
            name for (name,) in self.run(f"SELECT slot_name FROM pg_replication_slots WHERE database='{self.name}'")
        ]

    def drop(self) -> None:
        """Also while a source still wants to follow it."""
        with self.server.connect() as connection:
            connection.execute(f"ALTER DATABASE {self.name} ALLOW_CONNECTIONS false")
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s AND pid <> pg_backend_pid()",
                (self.name,),
            )
            until(
                lambda: (
                    not connection.execute("SELECT 1 FROM pg_stat_activity WHERE datname = %s", (self.name,)).fetchall()
                )
            )
            connection.execute(
                "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE database = %s", (self.name,)
            )
            connection.execute(f"DROP DATABASE {self.name} WITH (FORCE)")


def until(is_true: Callable[[], object], seconds: float = SECONDS) -> None:
    """Waits for something that another thread or process does."""
    end = time.monotonic() + seconds
    while not is_true():
        assert time.monotonic() < end, "it does not become true"
        time.sleep(0.02)


def until_equal(run: Callable[[str], object], query: str, expected: object) -> None:
    """Waits until the query gives this."""
    until(lambda: run(query) == expected)


def follow(server: Server, upstream: Upstream, *tables: str) -> Client:
    """A session of the server, which copies these tables."""
    client = server.client()
    client.run(upstream.source())
    for table in tables:
        client.run(f"CREATE TABLE {table} (*) FROM pg TABLE 'public.{table}'")
    return client
