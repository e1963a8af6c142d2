"""What the page asks for: log in, run a text, cancel it, log out."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from http import HTTPStatus
from types import MappingProxyType
from typing import Any

from risingpy.errors import SqlError
from risingpy.frontend.authentication.door import INVALID_PASSWORD
from risingpy.frontend.authentication.http_door import CredentialsNeeded, HttpClient, HttpDoor, TooManyTries
from risingpy.frontend.console.answers import JsonAnswer, Send
from risingpy.frontend.console.logins import Login, Logins
from risingpy.frontend.console.requests import PageRefused, is_named_by_address, text_of
from risingpy.frontend.console.runs import RunningText, Runs
from risingpy.frontend.results import StartupParameters
from risingpy.frontend.session import ClientSession, open_session
from risingpy.meta.database import Database
from risingpy.plan.catalog import BOOTSTRAP_NAME

MOST_ROWS = 10_000
APPLICATION_NAME = "risingpy console"
Body = Mapping[str, Any]


class Console:
    """The console of one database. From any thread; refusals are PageRefused."""

    def __init__(
        self,
        database: Database,
        door: HttpDoor | None,
        own_host: str,
        defaults: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """`door`: None lets everybody in. `defaults` are settings that the operator gives every session."""
        self._database = database
        self._door = door
        self._own_host = own_host
        self._defaults = defaults
        self._logins = Logins()
        self._runs = Runs()

    def log_in(self, client: HttpClient, host: str, body: Body) -> dict[str, str]:
        """Asks the door, as any client does; gives the page its token. Without a user, it asks as `HttpDoor` says."""
        catalog = self._database.reads.catalog
        user, password = text_of(body, "user") or None, text_of(body, "password")
        database = text_of(body, "database") or catalog.database
        if password is None and not is_named_by_address(host, self._own_host):
            message = "without a password, open the console by the server's address, or as localhost"
            raise PageRefused(HTTPStatus.UNAUTHORIZED, message)
        user = self._let_in(client, user, password, database)
        role = self._database.reads.catalog.role_named(user)
        if role is None:
            raise PageRefused(HTTPStatus.UNAUTHORIZED, f'role "{user}" does not exist')
        if self._database.reads.catalog.database_named(database) is None:
            raise PageRefused(HTTPStatus.NOT_FOUND, f'database "{database}" does not exist')
        token = self._logins.add(Login(user, client.address, database, role.role_id, role.secret))
        return {"token": token, "user": user, "database": database}

    def log_out(self, token: str) -> None:
        self._logins.end(token)

    def cancel(self, token: str, body: Body) -> int:
        """Cancels what the page runs under a name; returns how many texts that were."""
        return self._runs.cancel(token, text_of(body, "name") or "")

    def begin(self, client: HttpClient, token: str, body: Body) -> PageRun:
        """A text that may run."""
        login = self._logins.get(token)
        role = None if login is None else self._database.reads.catalog.role_named(login.user)
        if login is None or not login.holds(role, client.address):
            raise PageRefused(HTTPStatus.UNAUTHORIZED, "log in first")
        if self._door is not None:
            try:
                self._door.check_still_admitted(client, login.user, login.database)
            except SqlError as error:
                raise PageRefused(HTTPStatus.FORBIDDEN, error.message) from None
        limit = body.get("limit", 500)
        if not isinstance(limit, int) or not 0 < limit <= MOST_ROWS:
            raise PageRefused(HTTPStatus.BAD_REQUEST, f'"limit" is a number from 1 to {MOST_ROWS}')
        return PageRun(self, login, token, text_of(body, "name") or "", text_of(body, "sql") or "", limit)

    def stop(self) -> None:
        """Ends all that runs, and returns when it has ended. Call it before the database is closed."""
        self._runs.stop()

    def _let_in(self, client: HttpClient, user: str | None, password: str | None, database: str) -> str:
        if self._door is None:
            return user or BOOTSTRAP_NAME
        try:
            return self._door.let_in_as(client, user, password, database)
        except CredentialsNeeded:
            raise PageRefused(HTTPStatus.UNAUTHORIZED, "a user and a password are needed") from None
        except TooManyTries:
            raise PageRefused(HTTPStatus.TOO_MANY_REQUESTS, "too many failed logins: try again later") from None
        except SqlError as error:
            wrong = error.sqlstate == INVALID_PASSWORD
            status = HTTPStatus.UNAUTHORIZED if wrong else HTTPStatus.FORBIDDEN
            raise PageRefused(status, error.message) from None

    @property
    def runs(self) -> Runs:
        return self._runs

    def session(self, login: Login, run: RunningText, address: str) -> ClientSession:
        """A session for one text: nothing of it is left open when the text is done."""
        settings = {"application_name": APPLICATION_NAME}
        number = secrets.randbelow(2**31 - 1) + 1
        startup = StartupParameters(login.user, login.database, settings, number, address, run)
        return open_session(self._database, startup, self._defaults)


class PageRun:
    """A text of a page, in a session of its own."""

    def __init__(self, console: Console, login: Login, token: str, name: str, sql: str, limit: int) -> None:
        self._console = console
        self._login = login
        self._token = token
        self._name = name
        self._sql = sql
        self._limit = limit

    def answer(self, connection: Any, address: str, begin: Callable[[], None], send: Send) -> None:
        """Runs it; `begin` is called once, when nothing refuses it any more. Raises OSError if the client goes."""
        with self._console.runs.run(self._token, self._name, connection) as run:
            try:
                session = self._console.session(self._login, run, address)
            except SqlError as error:
                raise PageRefused(HTTPStatus.SERVICE_UNAVAILABLE, error.message) from None
            try:
                run.session = session
                if run.ended_by is not None:  # it came before there was a session
                    session.cancel()
                begin()
                JsonAnswer(session, send, self._limit).run(self._sql, lambda: run.ended_by)
            finally:
                session.close()
