"""A database of the test run's MariaDB, and what tests ask of it and of its copies."""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import count
from typing import Any

import pymysql

from tests.connectors.postgres_cdc.upstream import until
from tests.connectors.systems.mariadb import MariaDb
from tests.meta.conftest import Client, Server

__all__ = ["Upstream", "follow", "has_all", "until"]

_NUMBERS = count(1)


@dataclass
class Upstream:
    """A database of its own."""

    server: MariaDb
    name: str

    @classmethod
    def create(cls, server: MariaDb) -> Upstream:
        made = cls(server, f"up_{next(_NUMBERS)}_{time.time_ns()}")
        with made.connect(database=None) as connection:
            connection.cursor().execute(f"CREATE DATABASE {made.name}")
        return made

    def connect(self, **more: Any) -> Any:
        options: dict[str, Any] = {"host": "127.0.0.1", "port": self.server.port, "user": "root", "autocommit": True,
                                   "database": self.name, "charset": "utf8mb4"}  # fmt: skip
        return pymysql.connect(**{**options, **more})

    def run(self, *statements: str) -> list[tuple[Any, ...]]:
        """The rows of the last statement. All are of one session."""
        with self.connect() as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
            return list(cursor.fetchall())

    def source(self, name: str = "my", **more: str) -> str:
        """The CREATE SOURCE statement."""
        options = {
            "connector": "mysql-cdc",
            "hostname": "127.0.0.1",
            "port": str(self.server.port),
            "username": "root",
            "database.name": self.name,
            **{key.replace("__", "."): value for key, value in more.items()},
        }
        shown = ", ".join(f"{key} = '{value}'" for key, value in options.items())
        return f"CREATE SOURCE {name} WITH ({shown})"

    def drop(self) -> None:
        self.run(f"DROP DATABASE {self.name}")


def follow(server: Server, upstream: Upstream, *tables: str) -> Client:
    """A session of the server, which copies these tables."""
    client = server.client()
    client.run(upstream.source())
    for table in tables:
        client.run(f"CREATE TABLE {table} (*) FROM my TABLE '{upstream.name}.{table}'")
    return client


def has_all(client: Client, upstream: Upstream, query: str) -> None:
    """The query gives here what it gives upstream: FLUSH waits for what is committed there."""
    expected = upstream.run(query)
    assert client.run(f"FLUSH; {query}") == expected
