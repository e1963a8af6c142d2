"""A name may begin with the database: with its own name, or with the name by which the client connected.

Names of other databases are in the suite `ddl/database_names.slt`.
"""

from __future__ import annotations

from typing import Any

import pytest

from risingpy.errors import FeatureNotSupported
from risingpy.frontend.results import StartupParameters
from risingpy.frontend.session import open_session
from risingpy.meta.database import Database
from tests.frontend.session.conftest import Client


@pytest.fixture
def table(client: Any) -> Any:
    client.run("CREATE TABLE dev.public.t (a dev.pg_catalog.int4 PRIMARY KEY, b pg_catalog.int8)")
    client.run("INSERT INTO dev.public.t VALUES (1, 2)")
    return client


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("SELECT * FROM dev.public.t", [(1, 2)]),
        ("SELECT DEV.public.t.a, dev.public.t.* FROM t", [(1, 1, 2)]),
        ("SELECT dev.public.plus_one(a) FROM t", [(2,)]),
        ("SELECT dev.pg_catalog.lower('A')", [("a",)]),
        ("SELECT relname FROM dev.pg_catalog.pg_class WHERE dev.pg_catalog.pg_class.relname = 't'", [("t",)]),
        ("UPDATE dev.public.t SET b = dev.public.t.a + 10 RETURNING dev.public.t.b", [(11,)]),
        ("DELETE FROM dev.public.t RETURNING a", [(1,)]),
    ],
)
def test_its_own_database(table: Any, sql: str, rows: list[tuple[object, ...]]) -> None:
    table.run("CREATE FUNCTION dev.public.plus_one(int) RETURNS int LANGUAGE sql AS 'SELECT $1 + 1'")
    assert table.run(sql) == rows


def test_the_name_that_the_client_gave(table: Any, database: Database) -> None:
    table.run("FLUSH")
    other = Client(open_session(database, StartupParameters("root", "mine")))
    assert other.run("SELECT mine.public.t.a FROM mine.public.t JOIN dev.public.t u USING (a)") == [(1,)]
    with pytest.raises(FeatureNotSupported):
        table.run("SELECT * FROM mine.public.t")


def test_a_view_goes_on_for_clients_that_call_the_database_otherwise(table: Any, database: Database) -> None:
    other = Client(open_session(database, StartupParameters("root", "mine")))
    other.run("CREATE VIEW v AS SELECT * FROM mine.public.t")
    assert table.run("SELECT * FROM v") == [(1, 2)]


def test_what_is_prepared_or_declared(table: Any) -> None:
    for sql in ("PREPARE p AS SELECT * FROM nosuch.public.t", "DECLARE c CURSOR WITH HOLD FOR TABLE nosuch.public.t"):
        with pytest.raises(FeatureNotSupported, match="cross-database references are not implemented") as refused:
            table.run(sql)
        assert refused.value.position == sql.index("nosuch") + 1
