"""The console's users are those of SQL: the same door, the same rights, and a login that ends with its user's."""

from __future__ import annotations

import json
import ssl
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from risingpy.frontend.authentication.guessing import FREE_FAILURES
from risingpy.frontend.authentication.http_door import HttpDoor
from risingpy.frontend.console.logins import IDLE_SECONDS, MOST_LOGINS, Login, Logins
from risingpy.frontend.monitoring import MonitoringServer
from risingpy.frontend.results import StartupParameters
from risingpy.frontend.session import open_session
from risingpy.meta.database import Database
from tests.frontend.authentication.conftest import Served
from tests.frontend.authentication.test_http_door import asked
from tests.frontend.console.page import OWN, Page

PASSWORDS = "host all all all scram-sha-256"


@pytest.fixture
def listen(serve: Callable[..., Served]) -> Iterator[Callable[..., Page]]:
    """Starts a console behind a door, and opens its page."""
    started = []

    def listen(*hba: str, tls: bool = False) -> Page:
        served = serve(*hba, tls=tls)
        monitoring = MonitoringServer("127.0.0.1", 0)
        monitoring.serves(served.database, HttpDoor(served.door), lambda: served.wire.tls)
        started.append(monitoring)
        return Page(monitoring.port)

    yield listen
    for monitoring in started:
        monitoring.stop()


def as_root(database: Database, text: str) -> None:
    session = open_session(database, StartupParameters("root", "dev"))
    for statement in session.split(text):
        session.execute(session.prepare(statement, ()), ())
        session.sync()
    session.close()


def error_of(lines: list[dict[str, Any]]) -> str:
    [error] = [line["error"] for line in lines if "error" in line]
    return str(error["sqlstate"])


def test_a_password_and_the_rights_of_its_user(listen: Callable[..., Page], database: Database) -> None:
    as_root(database, "CREATE USER reader PASSWORD 'secret'; CREATE TABLE kept (id int); CREATE TABLE given (id int)")
    as_root(database, "GRANT SELECT ON given TO reader")
    page = listen(PASSWORDS)
    assert page.log_in() == 401
    assert page.log_in(user="reader", password="wrong") == 401
    assert page.log_in(user="nobody", password="secret") == 401
    assert page.log_in(user="sleeper", password="secret") == 403
    assert page.log_in(user="late", password="secret") == 401
    assert page.log_in(user="reader", password="secret", database="nosuch") in (403, 404)
    assert page.log_in(user="reader", password="secret") == 200
    assert page.columns("SELECT current_user") == [["reader"]]
    assert page.columns("SHOW application_name") == [["risingpy console"]]
    assert page.columns("SELECT count(*) FROM given") == [["0"]]
    assert error_of(page.run("SELECT * FROM kept")) == error_of(page.run("DROP TABLE given")) == "42501"
    assert error_of(page.run("SELECT rolpassword FROM pg_authid")) == "42501"


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ("ALTER USER leaver PASSWORD 'other'", 401),
        ("ALTER USER leaver NOLOGIN", 403),
        ("DROP USER leaver", 401),
        ("DROP USER leaver; CREATE USER leaver PASSWORD 'secret'", 401),
        ("REVOKE CONNECT ON DATABASE dev FROM PUBLIC", 403),
    ],
)
def test_a_login_ends_with_the_right(listen: Callable[..., Page], database: Database, change: str, status: int) -> None:
    as_root(database, "CREATE USER leaver PASSWORD 'secret'")
    page = listen(PASSWORDS)
    assert page.log_in(user="leaver", password="secret") == 200
    assert page.columns("SELECT 1") == [["1"]]
    as_root(database, change)
    assert page.send("run", {"sql": "SELECT 1"})[0] == status
    as_root(database, "DROP USER IF EXISTS leaver; GRANT CONNECT ON DATABASE dev TO PUBLIC")


def test_guesses_are_slowed(listen: Callable[..., Page], database: Database) -> None:
    as_root(database, "CREATE USER guessed PASSWORD 'secret'")
    page = listen(PASSWORDS)
    for _ in range(FREE_FAILURES):
        assert page.log_in(user="guessed", password="guess") == 401
    began = time.monotonic()
    assert page.log_in(user="guessed", password="guess") == 401
    assert time.monotonic() - began >= 0.1


def test_rules_of_addresses(listen: Callable[..., Page]) -> None:
    assert listen("host all all 10.0.0.0/8 trust").log_in() == 403
    assert listen("host all all all reject").log_in(user="alice", password="secret") == 403


def test_over_tls(listen: Callable[..., Page], certificates: Path) -> None:
    page = listen("hostssl all all all scram-sha-256", tls=True)
    known = ssl.create_default_context(cafile=str(certificates / "ca.crt"))
    body = json.dumps({"user": "alice", "password": "secret"}).encode()
    place = f"localhost:{page.port}"
    assert asked(page.port, "/console/", tls=known)[0] == 200
    assert asked(page.port, "/console/login", OWN, body=body)[0] == 403  # no rule for what is not encrypted
    status, text = asked(page.port, "/console/login", {**OWN, "Origin": f"https://{place}"}, body=body, tls=known)
    assert status == 200
    headers = {**OWN, "Authorization": f"Bearer {json.loads(text)['token']}"}
    plain = {**headers, "Origin": f"http://{place}"}
    assert asked(page.port, "/console/run", plain, body=b'{"sql": "SELECT 1"}', tls=known)[0] == 403
    status, text = asked(page.port, "/console/run", headers, body=b'{"sql": "SELECT 1"}', tls=known)
    assert status == 200 and '"columns": [["1"]]' in text


def test_tokens_end() -> None:
    now = [0.0]
    logins = Logins(lambda: now[0])
    login = Login("alice", "127.0.0.1", "dev", 7, None)
    token = logins.add(login)
    now[0] = IDLE_SECONDS - 1
    assert logins.get(token) == login
    now[0] += IDLE_SECONDS - 1
    assert logins.get(token) == login, "its use counts"
    now[0] += IDLE_SECONDS + 1
    assert logins.get(token) is None
    tokens = [logins.add(login) for _ in range(MOST_LOGINS)]
    assert logins.get(tokens[0]) == login
    logins.add(login)
    assert logins.get(tokens[0]) == login and logins.get(tokens[1]) is None, "the one that rested for the longest time"
