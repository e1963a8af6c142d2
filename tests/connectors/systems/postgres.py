"""A PostgreSQL whose changes can be followed, one for a test run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.postgres_oracle import PostgresOracle, missing_reason, postgres_server

# A commit that was answered survives `pg_ctl stop -m immediate`.
SETTINGS = "wal_level=logical\nmax_replication_slots=12\nmax_wal_senders=12\nsynchronous_commit=on\n"


@pytest.fixture(scope="session")
def upstream_postgres() -> Iterator[PostgresOracle]:
    """The server of this test run, with wal_level = logical."""
    reason = missing_reason()
    if reason is not None:
        pytest.skip(reason)
    with postgres_server(SETTINGS) as server:
        yield server
