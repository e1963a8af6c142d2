"""The PostgreSQL to compare with, alone and beside a session."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.frontend.session.conftest import Client
from tests.frontend.session.tools.beside import Beside, beside_postgres
from tests.postgres_oracle import PostgresOracle
from tests.postgres_oracle import postgres_oracle as postgres_oracle


@pytest.fixture
def beside(client: Client, postgres_oracle: PostgresOracle) -> Iterator[Beside]:
    with beside_postgres(client, postgres_oracle) as both:
        yield both
