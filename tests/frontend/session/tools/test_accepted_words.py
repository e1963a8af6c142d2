"""Words of PostgreSQL that mean nothing here, and that clients send: they are taken, and a notice says so."""

from __future__ import annotations

import pytest

from risingpy.errors import SqlError
from risingpy.frontend.parameters.accepted import ACCEPTED
from risingpy.frontend.parameters.kinds import read_only
from tests.frontend.session.conftest import Client


def test_unlogged_tables_are_tables(client: Client) -> None:
    client.run("CREATE UNLOGGED TABLE u (a int PRIMARY KEY)")
    client.run("CREATE UNLOGGED TABLE v AS SELECT 1 AS a")
    client.run("SELECT 2 AS a INTO UNLOGGED w")
    assert client.notices == ["UNLOGGED has no effect here: the table's rows are as durable as any"] * 3
    client.run("INSERT INTO u VALUES (1)")
    assert client.run("SELECT a FROM u UNION ALL SELECT a FROM v UNION ALL SELECT a FROM w ORDER BY 1") == [
        (1,),
        (1,),
        (2,),
    ]
    with pytest.raises(SqlError, match='syntax error at or near "UNLOGGED"'):
        client.run("CREATE OR REPLACE UNLOGGED TABLE x (a int)")
    with pytest.raises(SqlError, match='syntax error at or near "VIEW"'):
        client.run("CREATE UNLOGGED VIEW x AS SELECT 1")


def test_only_with_parentheses(table: Client) -> None:
    assert table.run("SELECT x.n FROM ONLY (t) AS x JOIN ONLY (public.t) y USING (id) WHERE id = 2") == [(2,)]
    with pytest.raises(SqlError, match="syntax error at end of input"):
        table.run("SELECT n FROM ONLY (t")


@pytest.mark.parametrize(
    ("distance", "zone"), [("+00:00", "UTC"), ("-03:00", "Etc/GMT+3"), ("+02", "Etc/GMT-2")], ids=str
)
def test_a_time_zone_as_an_interval(client: Client, distance: str, zone: str) -> None:
    """What Sequelize sends first."""
    client.run(f"SET TIME ZONE INTERVAL '{distance}' HOUR TO MINUTE")
    assert client.run("SHOW timezone") == [(zone,)]


def test_every_parameter_takes_its_default(client: Client) -> None:
    for name, default, kind in ACCEPTED:
        assert client.run(f"SHOW {name}") == [(default,)]
        if kind is read_only:
            with pytest.raises(SqlError) as raised:
                client.run(f"SET {name} = 'x'")
            assert raised.value.sqlstate == "55P02"
        else:
            client.run(f"SET {name} = '{default}'")
            assert client.run(f"SHOW {name}") == [(default,)]
    with pytest.raises(SqlError) as raised:
        client.run("SET work_mem = 'much'")
    assert (raised.value.sqlstate, raised.value.message) == (
        "22023",
        'invalid value for parameter "work_mem": "much"',
    )
    client.run("SET work_mem = '64MB'")
    assert client.run("SHOW work_mem") == [("64MB",)]


def test_a_snapshot_for_parallel_dumps(client: Client) -> None:
    client.run("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY")
    [[snapshot]] = client.run("SELECT pg_catalog.pg_export_snapshot()")
    client.run(f"SET TRANSACTION SNAPSHOT '{snapshot}'")
    client.run("COMMIT")
