"""kill -9 amid random transactions that change the schema: after each start the server has whole transactions.

A PostgreSQL runs the same statements and is the model. While one of its transactions is open, it has both states: its
own session sees that after COMMIT, another one that before. A server that was killed before COMMIT must be in the state
before; one that was killed at some moment of COMMIT in either. PostgreSQL then goes the same way.

`RISINGPY_DDL_TRANSACTIONS` says how many transactions there are (`make ddl-test`: 10,000), `RISINGPY_DDL_SEED` which.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import psycopg
import pytest

from tests.crash.forked_servers import ForkingServers
from tests.frontend.session.ddl_in_transactions.random_statements import CATALOG, CLEAN, TABLES, Statements
from tests.postgres_oracle import PostgresOracle
from tests.postgres_oracle import postgres_oracle as postgres_oracle

TRANSACTIONS = int(os.environ.get("RISINGPY_DDL_TRANSACTIONS", "40"))
SEED = int(os.environ.get("RISINGPY_DDL_SEED", "5"))
_BETWEEN_KILLS = (10, 30)  # transactions
_LONGEST_COMMITS = (0.005, 0.05)  # seconds within which the server dies after COMMIT was sent
_TOLD = 500  # transactions, after which it says how far it is
_ROUND = 50  # transactions, after which all begins anew: few names are used again and again


class Campaign:
    """A server and a model, and how far they are."""

    def __init__(self, directory: Path, model: psycopg.Connection[Any], observer: psycopg.Connection[Any]) -> None:
        self.model, self.observer = model, observer
        self._directory, self._servers = directory, ForkingServers()
        self.random = Random(SEED)
        self.statements = Statements(Random(SEED))
        self.server = self._servers.start(directory)
        self.ours = self.server.connect()
        self.kills = self.torn = 0

    def close(self) -> None:
        """Ends the server."""
        self.ours.close()
        self.server.kill()
        self._servers.close()

    def clean(self) -> None:
        """Both have nothing but the schema s1 afterwards."""
        for statement in CLEAN:
            assert _state(self.ours, statement) == _state(self.model, statement), statement

    def transaction(self) -> None:
        """A transaction that nothing interrupts; then both have the same catalog."""
        for statement in self.statements.transaction():
            self._run(statement)
        assert _catalog(self.ours) == _catalog(self.model)

    def killed_transaction(self) -> None:
        """A transaction amid which the server dies; both then go on from the same state."""
        *drawn, _ = self.statements.transaction()
        self.kills += 1
        at_commit = self.random.random() < 0.7
        for statement in drawn[: None if at_commit else self.random.randint(1, len(drawn))]:
            self._run(statement)
        before = _catalog(self.observer)
        possible = {"ROLLBACK": before}
        if at_commit:
            if self.model.info.transaction_status == psycopg.pq.TransactionStatus.INTRANS:
                possible = {"COMMIT": _catalog(self.model), **possible}
            self._die_at_commit()
        else:
            self.server.kill()
        self.ours.close()
        self.server = self._servers.start(self._directory)
        self.ours = self.server.connect()
        found = _catalog(self.ours)
        way = next((way for way, catalog in possible.items() if catalog == found), None)
        assert way is not None, (drawn, found, possible)
        self.torn += way == "ROLLBACK" and len(possible) > 1
        _state(self.model, way)
        assert _rows(self.ours, self.model) is None

    def _run(self, statement: str) -> None:
        """Both answer alike."""
        assert _state(self.ours, statement) == _state(self.model, statement), statement

    def _die_at_commit(self) -> None:
        killer = threading.Timer(self.random.uniform(0, self.random.choice(_LONGEST_COMMITS)), self.server.kill)
        killer.start()
        _state(self.ours, "COMMIT")
        killer.join()


@pytest.fixture
def campaign(tmp_path: Path, postgres_oracle: PostgresOracle) -> Iterator[Campaign]:
    with postgres_oracle.connect() as model, postgres_oracle.connect() as observer:
        with closing(Campaign(tmp_path / "data", model, observer)) as made:
            yield made
        model.execute("DROP SCHEMA IF EXISTS s1 CASCADE")
        for statement in CLEAN[:-1]:
            model.execute(statement.encode())


def test_transactions_are_whole_after_each_kill(campaign: Campaign) -> None:
    next_kill = campaign.random.randint(*_BETWEEN_KILLS)
    started = time.monotonic()
    for number in range(TRANSACTIONS):
        if number % _ROUND == 0:
            campaign.clean()
        if number == next_kill:
            campaign.killed_transaction()
            next_kill += campaign.random.randint(*_BETWEEN_KILLS)
        else:
            campaign.transaction()
        if (number + 1) % _TOLD == 0:
            seconds = time.monotonic() - started
            print(f"{number + 1} transactions, {campaign.kills} kills, {seconds:.0f} s", flush=True)
    seconds = time.monotonic() - started
    told = f"{campaign.kills} kills, after {campaign.torn} of which a transaction at its COMMIT was not there"
    print(f"{TRANSACTIONS} transactions in {seconds:.0f} s, {told}")
    assert campaign.kills > 0


def _state(connection: psycopg.Connection[Any], statement: str) -> str | None:
    """The SQLSTATE of a statement's error; a lost connection is one, too."""
    try:
        connection.execute(statement.encode())
    except psycopg.OperationalError as error:
        return error.sqlstate or "lost"
    except psycopg.Error as error:
        return "42P01" if error.sqlstate == "3F000" else error.sqlstate
    return None


def _catalog(connection: psycopg.Connection[Any]) -> list[Any]:
    return [sorted(connection.execute(query.encode()).fetchall(), key=str) for query in CATALOG]


def _rows(ours: psycopg.Connection[Any], model: psycopg.Connection[Any]) -> object:
    """The first table whose rows differ, with both's; None if there is none."""
    for (name,) in model.execute(TABLES.encode()).fetchall():
        columns = [row[2] for row in model.execute(CATALOG[1].encode()).fetchall() if f"{row[0]}.{row[1]}" == name]
        query = f"SELECT {', '.join(columns) or '1'} FROM {name}".encode()
        found = [sorted(connection.execute(query).fetchall(), key=str) for connection in (ours, model)]
        if found[0] != found[1]:
            return name, found
    return None
