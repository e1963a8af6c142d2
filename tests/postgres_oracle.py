"""A real PostgreSQL for tests to compare with, in a temporary directory, on a Unix socket.

Each module or folder that imports the fixture has a server of its own until the run ends, for roles and databases are a
whole server's. To initialize one takes a second, so that happens once in a process; the others begin as copies.

Needs PostgreSQL 15's programs; where they are missing, tests that ask for it are skipped and say why. PostgreSQL
refuses to run as root, so there it runs as the user `postgres`.
"""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

PROGRAMS = Path("/usr/lib/postgresql/15/bin")
# Compiling the queries would cost far more than answering them: no table here has more than a few rows.
_SETTINGS = "fsync=off\nsynchronous_commit=off\njit=off\ntimezone='UTC'\nlc_messages='C'\nlisten_addresses=''\n"


@dataclass(frozen=True)
class PostgresOracle:
    """Where the server listens."""

    directory: Path
    port: int
    superuser: str = "postgres"

    def control(self, *arguments: str) -> None:
        """Runs pg_ctl on it: `stop`, `start`."""
        _run("pg_ctl", "-D", str(self.directory / "data"), "-l", str(self.directory / "log"), "-w", *arguments)

    def connect(self) -> psycopg.Connection[tuple[object, ...]]:
        """A connection in autocommit, as the superuser."""
        return psycopg.connect(
            host=str(self.directory), port=self.port, user=self.superuser, dbname="postgres", autocommit=True
        )


def missing_reason() -> str | None:
    """Why no PostgreSQL can be started here; None if it can."""
    if not (PROGRAMS / "initdb").exists():
        return f"PostgreSQL 15 is not installed in {PROGRAMS}"
    if os.getuid() == 0 and shutil.which("runuser") is None:
        return "PostgreSQL does not run as root, and there is no runuser"
    return None


@contextmanager
def postgres_server(
    more_settings: str = "", *, superuser: str = "postgres", locale: str = "C"
) -> Iterator[PostgresOracle]:
    """Starts a server and stops it afterwards. The settings are lines of postgresql.conf."""
    new = _new_directory(superuser, locale)
    directory = _directory_of_postgres()
    port = _free_port()
    data = directory / "data"
    try:
        _run("cp", "--archive", str(new), str(data))
        with (data / "postgresql.conf").open("a") as settings:
            settings.write(f"{_SETTINGS}port={port}\nunix_socket_directories='{directory}'\n{more_settings}")
        _run("pg_ctl", "-D", str(data), "-l", str(directory / "log"), "-w", "start")
        try:
            yield PostgresOracle(directory, port, superuser)
        finally:
            _run("pg_ctl", "-D", str(data), "-m", "immediate", "stop")
    finally:
        shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres_oracle() -> Iterator[PostgresOracle]:
    """The server of this test run."""
    reason = missing_reason()
    if reason is not None:
        pytest.skip(reason)
    with postgres_server() as server:
        yield server


@functools.cache
def _new_directory(superuser: str, locale: str) -> Path:
    """The data directory of a server that never ran."""
    directory = _directory_of_postgres()
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    data = str(directory / "data")
    who = ("-A", "trust", "-U", superuser, "-E", "UTF8", f"--locale={locale}")
    _run("initdb", "-D", data, *who, "-N", "--wal-segsize=1")  # MB: of the usual 16, copies would have 15 of zeros
    return directory / "data"


def _directory_of_postgres() -> Path:
    directory = Path(tempfile.mkdtemp(prefix="risingpy-postgres-"))
    if os.getuid() == 0:
        shutil.chown(directory, "postgres")
    return directory


def _run(program: str, *arguments: str) -> None:
    ours = PROGRAMS / program
    command = [str(ours) if ours.exists() else program, *arguments]
    if os.getuid() == 0:
        command = ["runuser", "-u", "postgres", "--", *command]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd="/", timeout=120)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
