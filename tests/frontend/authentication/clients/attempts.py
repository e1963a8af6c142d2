"""A way to log in, what a client says of it, and the clients that are written in Python or C."""

from __future__ import annotations

import asyncio
import json
import os
import re
import ssl
import subprocess
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import asyncpg
import psycopg

HOST = "localhost"


@dataclass(frozen=True, slots=True)
class Attempt:
    """`authority` makes the client verify the server's certificate and name; `certificate` is what it shows itself."""

    user: str = "alice"
    password: str = "secret"
    database: str = "dev"
    tls: bool = True
    authority: str | None = "ca"
    certificate: str | None = None
    bound: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """The user who is in, or the client's message, and the SQLSTATE if the client tells it."""

    user: str | None
    message: str = ""
    sqlstate: str | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """Where the server is, and the directory of the certificates."""

    port: int
    certificates: Path

    def file(self, name: str) -> str:
        return str(self.certificates / name)


def through_psql(place: Place, attempts: Sequence[Attempt]) -> list[Outcome]:
    outcomes = []
    for attempt in attempts:
        conninfo = " ".join(f"{name}={value}" for name, value in _libpq_options(place, attempt).items())
        environ = {**os.environ, "PGPASSWORD": attempt.password}
        command = ["psql", "-X", "-w", "-Atc", "SELECT current_user", conninfo]
        run = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=60)
        outcomes.append(Outcome(None, run.stderr) if run.returncode else Outcome(run.stdout.strip()))
    return outcomes


def through_psycopg(place: Place, attempts: Sequence[Attempt]) -> list[Outcome]:
    outcomes = []
    for attempt in attempts:
        options = {**_libpq_options(place, attempt), "password": attempt.password}
        try:
            with psycopg.connect(**options) as connection:  # type: ignore[arg-type]
                outcomes.append(Outcome(_only(connection.execute("SELECT current_user").fetchone())))
        except psycopg.OperationalError as error:
            outcomes.append(Outcome(None, str(error)))
    return outcomes


def through_asyncpg(place: Place, attempts: Sequence[Attempt]) -> list[Outcome]:
    async def log_in(attempt: Attempt) -> Outcome:
        where = {"host": HOST, "port": place.port, "database": attempt.database}
        who = {"user": attempt.user, "password": attempt.password, "ssl": _context(place, attempt)}
        try:
            connection = await asyncpg.connect(**where, **who)
        except asyncpg.PostgresError as error:
            return Outcome(None, str(error), error.sqlstate)
        except (OSError, ValueError) as error:
            return Outcome(None, str(error))
        try:
            return Outcome(await connection.fetchval("SELECT current_user"))
        finally:
            await connection.close()

    async def log_in_each() -> list[Outcome]:
        return [await log_in(attempt) for attempt in attempts]

    return asyncio.run(log_in_each())


def through_program(
    command: Sequence[str], place: Place, attempts: Sequence[Attempt], environ: dict[str, str]
) -> list[Outcome]:
    """A program that takes one attempt a line, its fields between tabs, and writes one outcome a line."""
    lines = [_line(place, attempt) for attempt in attempts]
    run = subprocess.run(
        command, input="".join(lines), capture_output=True, text=True, timeout=120, env={**os.environ, **environ}
    )
    assert run.returncode == 0, run.stderr
    return [_outcome(line) for line in run.stdout.splitlines()]


def _line(place: Place, attempt: Attempt) -> str:
    files = replace(
        attempt,
        authority=attempt.authority and place.file(f"{attempt.authority}.crt"),
        certificate=attempt.certificate and place.file(attempt.certificate),
    )
    values = {"host": HOST, "port": place.port, **asdict(files)}
    words = [json.dumps(value) if isinstance(value, bool) else str(value or "") for value in values.values()]
    return "\t".join(words) + "\n"


def _outcome(line: str) -> Outcome:
    user, sqlstate, message = line.split("\t", 2)
    return Outcome(user or None, message, sqlstate if re.fullmatch("[0-9A-Z]{5}", sqlstate) else None)


def _libpq_options(place: Place, attempt: Attempt) -> dict[str, object]:
    mode = "disable" if not attempt.tls else "verify-full" if attempt.authority else "require"
    shown = place.file(attempt.certificate) if attempt.certificate else "/nowhere"
    return {
        "host": HOST,
        "port": place.port,
        "user": attempt.user,
        "dbname": attempt.database,
        "sslmode": mode,
        "sslrootcert": place.file(f"{attempt.authority}.crt") if attempt.authority else "/nowhere",
        "sslcert": f"{shown}.crt",
        "sslkey": f"{shown}.key",
        "channel_binding": "require" if attempt.bound else "prefer",
    }


def _context(place: Place, attempt: Attempt) -> ssl.SSLContext | bool:
    if not attempt.tls:
        return False
    context = ssl.create_default_context(cafile=attempt.authority and place.file(f"{attempt.authority}.crt"))
    if not attempt.authority:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if attempt.certificate:
        context.load_cert_chain(place.file(f"{attempt.certificate}.crt"), place.file(f"{attempt.certificate}.key"))
    return context


def _only(row: tuple[object, ...] | None) -> str:
    assert row is not None
    return str(row[0])
