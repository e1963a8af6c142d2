"""A MariaDB whose binary log can be followed, one for a test run."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.connectors.systems.process import free_port, running

SETTINGS = (
    "--log-bin=binlog", "--binlog-format=ROW", "--binlog-row-image=FULL", "--binlog-row-metadata=FULL",
    "--server-id=1", "--sync-binlog=1", "--character-set-server=utf8mb4",
)  # fmt: skip


@dataclass(frozen=True)
class MariaDb:
    """A running server of the superuser `root`, without a password."""

    port: int


@pytest.fixture(scope="session")
def mariadb() -> Iterator[MariaDb]:
    """The server of this test run."""
    pytest.importorskip("pymysql", reason="PyMySQL is not installed")
    daemon, install = shutil.which("mariadbd", path="/usr/sbin:/usr/bin"), shutil.which("mariadb-install-db")
    if daemon is None or install is None:
        pytest.skip("MariaDB is not installed (Debian: the package mariadb-server)")
    with tempfile.TemporaryDirectory(prefix="risingpy_mariadb_") as name:
        directory = Path(name)
        made = subprocess.run(
            [install, "--no-defaults", f"--datadir={directory / 'data'}", "--user=root",
             "--auth-root-authentication-method=normal"],
            capture_output=True, text=True,
        )  # fmt: skip
        assert made.returncode == 0, made.stdout[-2000:] + made.stderr[-2000:]
        port = free_port()
        command = [daemon, "--no-defaults", "--user=root", f"--datadir={directory / 'data'}", f"--port={port}",
                   "--bind-address=127.0.0.1", f"--socket={directory / 'socket'}", *SETTINGS]  # fmt: skip
        with running(command, port, directory / "log"):
            yield MariaDb(port)
