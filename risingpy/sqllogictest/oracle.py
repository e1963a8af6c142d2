"""A PostgreSQL of our own, for one run: in a temporary directory, reached over a Unix socket."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg

START_TIMEOUT_SECONDS = 60
STOP_TIMEOUT_SECONDS = 30
UNPRIVILEGED_USER = "postgres"  # PostgreSQL refuses to run as root
SETTINGS = {
    "listen_addresses": "",
    "fsync": "off",
    "timezone": "UTC",
    "datestyle": "ISO, MDY",
    "max_connections": "100",
    "log_min_messages": "fatal",
}


class OracleUnavailable(Exception):
    """PostgreSQL is not installed or does not start: the operator must install it, or leave the oracle out."""


@contextlib.contextmanager
def running_postgresql() -> Iterator[str]:
    """Starts PostgreSQL and gives its libpq connection string. Raises OracleUnavailable."""
    programs = find_programs()
    user = UNPRIVILEGED_USER if os.geteuid() == 0 else None
    with tempfile.TemporaryDirectory(prefix="risingpy-oracle-") as name:
        directory = Path(name)
        if user is not None:
            _hand_over(directory, user)
        _initialize(programs / "initdb", directory / "data", user)
        options = [part for key, value in SETTINGS.items() for part in ("-c", f"{key}={value}")]
        process = subprocess.Popen(
            [programs / "postgres", "-D", directory / "data", "-k", directory, *options],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            cwd=directory, user=user, extra_groups=_no_groups(user),
        )  # fmt: skip
        try:
            conninfo = f"host={directory} user=postgres dbname=postgres"
            _wait(conninfo, process)
            yield conninfo
        finally:
            process.send_signal(signal.SIGINT)  # the "fast" shutdown: sessions are cut
            try:
                process.wait(STOP_TIMEOUT_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def find_programs() -> Path:
    """The directory of `initdb` and `postgres`: PATH's, or the newest of Debian's. Raises OracleUnavailable."""
    on_path = shutil.which("initdb")
    candidates = [Path(on_path).resolve().parent] if on_path else []
    candidates += sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=_version, reverse=True)
    for directory in candidates:
        if all((directory / program).exists() for program in ("initdb", "postgres")):
            return directory
    raise OracleUnavailable("PostgreSQL (initdb, postgres) is neither on PATH nor in /usr/lib/postgresql")


def _version(directory: Path) -> int:
    name = directory.parent.name
    return int(name) if name.isdigit() else 0


def _hand_over(directory: Path, user: str) -> None:
    try:
        entry = pwd.getpwnam(user)
    except KeyError:
        raise OracleUnavailable(f'root cannot run PostgreSQL, and there is no user "{user}" to run it as') from None
    os.chown(directory, entry.pw_uid, entry.pw_gid)


def _no_groups(user: str | None) -> list[str] | None:
    return [] if user is not None else None


def _initialize(initdb: Path, data: Path, user: str | None) -> None:
    run = subprocess.run(
        [initdb, "-D", data, "-U", "postgres", "--auth=trust", "--no-sync", "--locale=C.UTF-8", "--encoding=UTF8"],
        capture_output=True, text=True, cwd=data.parent, user=user, extra_groups=_no_groups(user), check=False,
    )  # fmt: skip
    if run.returncode != 0:
        raise OracleUnavailable(f"initdb failed: {run.stderr.strip()}")


def _wait(conninfo: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_TIMEOUT_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise OracleUnavailable(f"PostgreSQL ended with exit code {process.returncode} at its start")
        with contextlib.suppress(psycopg.OperationalError):
            psycopg.connect(conninfo, connect_timeout=5).close()
            return
        time.sleep(0.05)
    raise OracleUnavailable(f"PostgreSQL took more than {START_TIMEOUT_SECONDS} s to start")
