"""A database to follow, and databases that follow it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.connectors.systems.mariadb import MariaDb, mariadb
from tests.meta.conftest import server

__all__ = ["mariadb", "server"]

pytest.importorskip("pymysql", reason="PyMySQL is not installed")

from tests.connectors.mysql_cdc.upstream import Upstream


@pytest.fixture
def upstream(mariadb: MariaDb) -> Iterator[Upstream]:
    made = Upstream.create(mariadb)
    yield made
    made.drop()
