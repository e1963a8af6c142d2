"""SET, RESET, SHOW."""

from __future__ import annotations

from typing import Any

import pytest

from risingpy.errors import SqlError
from risingpy.frontend.results import StartupParameters
from risingpy.frontend.settings import Settings


def made(**startup: str) -> Settings:
    return Settings(StartupParameters("alice", "dev", startup))


@pytest.mark.parametrize(
    ("name", "given", "shown"),
    [
        ("application_name", "x", "x"),
        ("TimeZone", "europe/berlin", "Europe/Berlin"),
        ("timezone", "-3", "Etc/GMT+3"),
        ("timezone", "LOCAL", "UTC"),
        ("statement_timeout", "5s", "5000"),
        ("statement_timeout", "250", "250"),
        ("extra_float_digits", "3", "3"),
        ("client_encoding", "utf-8", "UTF8"),
        ("datestyle", "ISO", "ISO, MDY"),
        ("visibility_mode", "CHECKPOINT", "checkpoint"),
        ("visibility_mode", "all", "strict"),
        ("implicit_flush", "1", "true"),
        ("my.own", "anything", "anything"),
        ("search_path", 'a, "B c"', 'a, "B c"'),
    ],
)
def test_values_are_checked_and_shown_in_one_form(name: str, given: str, shown: str) -> None:
    settings = made()
    settings.set(name, (given,))
    assert settings.get(name) == shown


@pytest.mark.parametrize(
    ("name", "value", "sqlstate"),
    [
        ("nosuch", "1", "42704"),
        ("timezone", "Mars/Base", "22023"),
        ("statement_timeout", "soon", "22023"),
        ("extra_float_digits", "99", "22023"),
        ("extra_float_digits", "many", "22023"),
        ("visibility_mode", "none", "22023"),
        ("jit", "maybe", "22023"),
        ("server_version", "15", "55P02"),
        ("client_encoding", "LATIN1", "0A000"),
        ("bytea_output", "escape", "0A000"),
        ("query_mode", "distributed", "0A000"),
    ],
)
def test_other_values_are_refused(name: str, value: str, sqlstate: str) -> None:
    with pytest.raises(SqlError) as caught:
        made().set(name, (value,))
    assert caught.value.sqlstate == sqlstate


def test_reset_goes_back_to_what_the_client_asked_for_at_startup() -> None:
    settings = made(TimeZone="Asia/Tokyo")
    settings.set("timezone", ("UTC",))
    settings.reset("timezone")
    assert settings.get("timezone") == "Asia/Tokyo"
    settings.set("application_name", ("x",))
    settings.set("a.b", ("c",))
    settings.reset("all")
    assert settings.get("application_name") == ""
    assert settings.find("a.b") is None


def test_changes_are_reported_once() -> None:
    settings = made(application_name="psql")
    assert settings.reported()["application_name"] == "psql"
    assert settings.drain_changes() == {}
    settings.set("timezone", ("Asia/Tokyo",))
    settings.set("statement_timeout", ("1",))
    assert settings.drain_changes() == {"TimeZone": "Asia/Tokyo"}
    assert settings.drain_changes() == {}


def test_search_path_names_the_user() -> None:
    settings = made()
    assert settings.search_path() == ("alice", "public")
    settings.set("search_path", ("s1", "Mixed"))
    assert settings.search_path() == ("s1", "Mixed")
    settings.set("search_path", ("",))
    assert settings.search_path() == ()


def test_version_grows_when_statements_mean_something_else() -> None:
    settings = made()
    settings.set("application_name", ("x",))
    assert settings.version == 0
    settings.set("search_path", ("s",))
    assert settings.version == 1


def test_set_in_a_transaction_lasts_if_the_transaction_does(client: Any) -> None:
    client.run("SET statement_timeout TO 1000")
    for end, kept in (("ROLLBACK", "1000"), ("COMMIT", "2000")):
        client.run("BEGIN")
        client.run("SET statement_timeout TO 2000")
        assert client.run("SHOW statement_timeout") == [("2000",)]
        client.run(end)
        assert client.run("SHOW statement_timeout") == [(kept,)]
    with pytest.raises(SqlError):
        client.run("SET statement_timeout TO 3000; SELECT 1 / 0")
    assert client.run("SHOW statement_timeout") == [("2000",)]


def test_set_local_ends_with_the_transaction(client: Any) -> None:
    client.run("SET LOCAL timezone TO 'Asia/Tokyo'")
    assert client.notices == ["SET LOCAL can only be used in transaction blocks"]
    assert client.run("SHOW timezone") == [("UTC",)]
    client.run("BEGIN; SET LOCAL timezone TO 'Asia/Tokyo'; SET LOCAL my.own TO 'x'")
    assert client.run("SHOW timezone") == [("Asia/Tokyo",)]
    client.run("COMMIT")
    assert client.run("SHOW timezone") == [("UTC",)]
    assert client.run("SHOW my.own") == [("",)]
    client.run("BEGIN; SET LOCAL timezone TO 'Asia/Tokyo'; SET timezone TO 'Europe/Rome'; COMMIT")
    assert client.run("SHOW timezone") == [("Europe/Rome",)]
