"""A name may begin with the name of the database.

Names of other databases are in the suite `ddl/database_names.slt`.
"""

from __future__ import annotations

from typing import Any

import pytest

from risingpy.errors import FeatureNotSupported


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


def test_what_is_prepared_or_declared(table: Any) -> None:
    for sql in ("PREPARE p AS SELECT * FROM nosuch.public.t", "DECLARE c CURSOR WITH HOLD FOR TABLE nosuch.public.t"):
        with pytest.raises(FeatureNotSupported, match="cross-database references are not implemented") as refused:
            table.run(sql)
        assert refused.value.position == sql.index("nosuch") + 1
