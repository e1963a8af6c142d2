"""A database to follow, and databases that follow it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.connectors.postgres_cdc.upstream import Upstream
from tests.connectors.systems.postgres import upstream_postgres
from tests.meta.conftest import server
from tests.postgres_oracle import PostgresOracle

__all__ = ["server", "upstream_postgres"]


@pytest.fixture
def upstream(upstream_postgres: PostgresOracle) -> Iterator[Upstream]:
    made = Upstream.create(upstream_postgres)
    yield made
    made.drop()
