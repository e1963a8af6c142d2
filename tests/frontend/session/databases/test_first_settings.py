"""Sessions begin with the settings of their database, of their role, and of the role in the database."""

from __future__ import annotations

from typing import Any

import pytest

from risingpy.frontend.results import StartupParameters
from risingpy.frontend.session import open_session
from risingpy.meta.database import Database
from tests.frontend.session.conftest import Client
from tests.frontend.session.databases.test_databases import in_database, refusal


@pytest.fixture
def joe(client: Any) -> Any:
    client.run("CREATE USER joe")
    client.run("CREATE DATABASE d1")
    return client


def shown(client: Client, name: str) -> object:
    [(value,)] = client.run(f"SHOW {name}")
    return value


def test_the_narrowest_counts(joe: Any, database: Database) -> None:
    steps = (
        ("ALTER DATABASE d1 SET timezone = 'Asia/Tokyo'", "Asia/Tokyo"),
        ("ALTER ROLE joe SET TIME ZONE 'Europe/Paris'", "Europe/Paris"),
        ("ALTER USER joe IN DATABASE d1 SET timezone TO 'America/New_York'", "America/New_York"),
        ("ALTER ROLE joe IN DATABASE d1 RESET timezone", "Europe/Paris"),
        ("ALTER ROLE joe RESET ALL", "Asia/Tokyo"),
        ("ALTER ROLE ALL IN DATABASE d1 SET timezone = 'Asia/Seoul'", "Asia/Seoul"),
        ("ALTER DATABASE d1 RESET timezone", "UTC"),
    )
    for sql, wanted in steps:
        joe.run(sql)
        session = in_database(database, "d1", "joe")
        assert shown(session, "timezone") == wanted, sql
        session.run("SET timezone = 'UTC'")
        session.run("RESET timezone")
        assert shown(session, "timezone") == wanted
        session.run("SET timezone = 'Asia/Kolkata'")
        session.run("RESET ALL")
        assert shown(session, "timezone") == wanted
        session.session.close()
    assert shown(in_database(database, "dev", "joe"), "timezone") == "UTC"


def test_what_the_client_asks_for_counts_more(joe: Any, database: Database) -> None:
    joe.run("ALTER ROLE joe SET search_path TO s, public")
    joe.run("ALTER ROLE joe SET statement_timeout = '5s'")
    joe.run("ALTER ROLE joe SET my.own = 'a b'")
    joe.run("SET application_name = 'taken over'")
    joe.run("ALTER ROLE joe SET application_name FROM CURRENT")
    session = in_database(database, "dev", "joe")
    found = [shown(session, name) for name in ("search_path", "statement_timeout", "my.own", "application_name")]
    assert found == ["s, public", "5000", "a b", "taken over"]
    given = {"application_name": "own", "statement_timeout": "7000"}
    asked = Client(open_session(database, StartupParameters("joe", "dev", given)))
    assert shown(asked, "application_name") == "own" and shown(asked, "statement_timeout") == "7000"
    assert asked.session.parameter_status()["application_name"] == "own"


def test_catalogs(joe: Any, database: Database) -> None:
    joe.run("ALTER ROLE joe SET timezone = 'UTC'")
    joe.run("ALTER ROLE joe IN DATABASE d1 SET statement_timeout = 1000")
    joe.run("ALTER DATABASE d1 SET application_name = 'x'")
    sql = (
        "SELECT datname, rolname, setconfig FROM pg_db_role_setting s LEFT JOIN pg_database d ON d.oid = setdatabase"
        " LEFT JOIN pg_roles r ON r.oid = setrole ORDER BY datname, rolname"
    )
    rows = joe.run(sql)
    assert [(row[0], row[1]) for row in rows] == [("d1", "joe"), ("d1", None), (None, "joe")]
    assert rows[1][2] == ["application_name=x"] and rows[2][2] == ["timezone=UTC"]
    assert joe.run("SELECT rolconfig FROM pg_roles WHERE rolname = 'joe'") == [(["timezone=UTC"],)]
    joe.run("DROP DATABASE d1")
    assert len(joe.run("SELECT * FROM pg_db_role_setting")) == 1
    joe.run("DROP USER joe")
    assert joe.run("SELECT * FROM pg_db_role_setting") == []


def test_who_may_and_what(joe: Any, database: Database) -> None:
    session = in_database(database, "dev", "joe")
    session.run("ALTER ROLE joe SET timezone = 'UTC'")  # one's own
    assert refusal(session, "ALTER ROLE root SET timezone = 'UTC'")[0] == "42501"
    assert refusal(session, "ALTER DATABASE d1 SET timezone = 'UTC'")[0] == "42501"
    assert refusal(session, "ALTER ROLE joe SET log_statement = 'none'")[0] == "42501"
    joe.run("CREATE USER ann")
    assert refusal(session, "ALTER ROLE ann SET timezone = 'UTC'")[0] == "42501"
    for sql, state in (
        ("ALTER ROLE joe SET timezone = 'Nowhere'", "22023"),
        ("ALTER ROLE joe SET nonsense = 1", "42704"),
        ("ALTER ROLE joe RESET nonsense", "42704"),
        ("ALTER ROLE nobody SET timezone = 'UTC'", "42704"),
        ("ALTER DATABASE nosuch SET timezone = 'UTC'", "3D000"),
        ("ALTER ROLE joe IN DATABASE nosuch SET timezone = 'UTC'", "3D000"),
        ("ALTER ROLE joe SET role = 'ann'", "0A000"),
        ("ALTER ROLE ALL SET timezone = 'UTC'", "0A000"),
        ("ALTER ROLE joe IN DATABASE d1", "42601"),
        ("ALTER ROLE joe SET LOCAL timezone = 'UTC'", "42601"),
    ):
        assert refusal(joe, sql)[0] == state, sql
    joe.run("ALTER ROLE joe SET log_statement = 'all'")
    assert shown(in_database(database, "dev", "joe"), "log_statement") == "all"
