"""pgbench as it comes with PostgreSQL: it makes its tables, fills them, gives them keys, and runs its transactions."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from risingpy.frontend.wire import WireServer
from tests.frontend.session.conftest import Client

PGBENCH = shutil.which("pgbench")
pytestmark = pytest.mark.skipif(PGBENCH is None, reason="needs PostgreSQL's pgbench")


def test_pgbench_makes_its_tables_and_runs(server: WireServer, client: Client) -> None:
    def pgbench(*options: str) -> str:
        assert PGBENCH is not None
        address = ("-h", "127.0.0.1", "-p", str(server.port), "-U", "root")
        done = subprocess.run((PGBENCH, *options, *address, "dev"), capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        return done.stdout

    pgbench("-i", "-s", "1", "--quiet")
    keys = client.run("SELECT conname FROM pg_constraint WHERE contype = 'p' ORDER BY conname")
    assert keys == [("pgbench_accounts_pkey",), ("pgbench_branches_pkey",), ("pgbench_tellers_pkey",)]
    assert client.run("SELECT count(*), sum(aid) FROM pgbench_accounts") == [(100_000, 5_000_050_000)]
    for mode in ("simple", "extended", "prepared"):
        assert "number of transactions actually processed: 5/5" in pgbench("-n", "-t", "5", "-M", mode)
    balances = [client.run(f"SELECT sum({c}balance) FROM pgbench_{t}") for c, t in
                (("a", "accounts"), ("b", "branches"), ("t", "tellers"))]  # fmt: skip
    assert balances == [client.run("SELECT sum(delta) FROM pgbench_history")] * 3
