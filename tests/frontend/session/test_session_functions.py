"""Functions of the session, together with relations of the user's; functions that views refuse."""

from __future__ import annotations

import pytest

from risingpy.errors import FeatureNotSupported, UndefinedObject
from tests.frontend.session.conftest import Client


def test_in_queries_of_relations(client: Client) -> None:
    client.run("CREATE TABLE t (n INT PRIMARY KEY)")
    client.run("INSERT INTO t VALUES (1)")
    assert client.run("SELECT n, current_setting('timezone'), pg_backend_pid() FROM t") == [(1, "UTC", 7)]
    assert client.run("SELECT current_setting('no.such', true), n FROM t") == [(None, 1)]
    with pytest.raises(UndefinedObject):
        client.run("SELECT n, current_setting('nosuch') FROM t")
    assert client.run("SELECT n, current_user, pg_typeof(n) FROM t") == [(1, "root", "integer")]


def test_the_time_zone_is_the_sessions(client: Client) -> None:
    client.run("SET TimeZone = 'Europe/Paris'")
    rows = client.run("SELECT date_trunc('day', TIMESTAMPTZ '2021-06-01 23:00+00') = TIMESTAMPTZ '2021-06-02'")
    assert rows == [(True,)]
    assert client.run("SELECT to_char(TIMESTAMPTZ '2021-06-01 23:00+00', 'DD HH24 OF')") == [("02 01 +02",)]
    assert client.run("SELECT extract(hour FROM TIMESTAMPTZ '2021-06-01 23:00+00') = 1") == [(True,)]


def test_a_view_keeps_the_time_zone_it_was_made_in(client: Client) -> None:
    client.run("CREATE TABLE t (n INT PRIMARY KEY, at TIMESTAMPTZ)")
    client.run("SET TimeZone = 'Europe/Paris'")
    client.run("CREATE MATERIALIZED VIEW v AS SELECT n, at::date AS day FROM t")
    client.run("CREATE VIEW plain AS SELECT n, at::date AS day FROM t")
    client.run("SET TimeZone = 'UTC'")
    client.run("INSERT INTO t VALUES (1, '2021-06-01 23:00+00')")
    assert client.run("SELECT day::text FROM v") == [("2021-06-02",)]
    assert client.run("SELECT day::text FROM plain") == [("2021-06-01",)]


@pytest.mark.parametrize("call", ["clock_timestamp()", "now()", "age(at)", "current_date"])
def test_views_refuse_what_changes_by_itself(client: Client, call: str) -> None:
    client.run("CREATE TABLE t (n INT PRIMARY KEY, at TIMESTAMP)")
    with pytest.raises(FeatureNotSupported):
        client.run(f"CREATE MATERIALIZED VIEW v AS SELECT n, {call} AS c FROM t")
