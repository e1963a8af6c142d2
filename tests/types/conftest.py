"""A real PostgreSQL 15 to compare with, where one is installed."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

_BIN = Path("/usr/lib/postgresql/15/bin")


def _as_postgres(command: list[str]) -> None:
    # postgres refuses to run as root.
    prefix = ["runuser", "-u", "postgres", "--"] if os.getuid() == 0 else []
    subprocess.run([*prefix, *command], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/")


@pytest.fixture(scope="session")
def postgres() -> Iterator[psycopg.Connection]:
    """A connection (autocommit, UTC) to a fresh PostgreSQL 15."""
    if not (_BIN / "initdb").exists():
        pytest.skip(f"no PostgreSQL 15 in {_BIN}")
    directory = tempfile.mkdtemp(prefix="risingpy-postgres-", dir="/tmp")
    try:
        if os.getuid() == 0:
            try:
                owner = pwd.getpwnam("postgres")
            except KeyError:
                pytest.skip("running as root, and there is no user postgres")
            os.chown(directory, owner.pw_uid, owner.pw_gid)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        _as_postgres([f"{_BIN}/initdb", "-D", f"{directory}/data", "-A", "trust", "-E", "UTF8", "--locale=C", "-N"])
        options = f"-p {port} -c listen_addresses=127.0.0.1 -c fsync=off -k {directory}"
        _as_postgres([f"{_BIN}/pg_ctl", "-D", f"{directory}/data", "-w", "-o", options, "start"])
        try:
            dsn = f"host=127.0.0.1 port={port} dbname=postgres user={'postgres' if os.getuid() == 0 else os.getlogin()}"
            with psycopg.connect(dsn, autocommit=True) as connection:
                connection.execute("set timezone = 'UTC'")
                yield connection
        finally:
            _as_postgres([f"{_BIN}/pg_ctl", "-D", f"{directory}/data", "-m", "immediate", "stop"])
    finally:
        shutil.rmtree(directory, ignore_errors=True)
