"""Buenavista's own server, as it is published, over our backend: psql and psycopg are its clients."""

from __future__ import annotations

import shutil
import subprocess
import threading
from collections.abc import Iterator

import psycopg
import pytest
from buenavista.postgres import BuenaVistaServer

import risingpy
from risingpy.embedded.buenavista_backend import BuenaVistaBackend

HOST = "127.0.0.1"


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with risingpy.connect(parallelism=2) as database:
        database.sql("CREATE TABLE t (k INT PRIMARY KEY, v NUMERIC, at TIMESTAMP, l INT[])")
        database.sql("CREATE MATERIALIZED VIEW sums AS SELECT count(*) AS n, sum(v) AS v FROM t")
        with BuenaVistaServer((HOST, 0), BuenaVistaBackend(database)) as server:
            serving = threading.Thread(target=server.serve_forever)
            serving.start()
            yield server.server_address[1]
            server.shutdown()
            serving.join()


def connect(port: int) -> psycopg.Connection[tuple[object, ...]]:
    return psycopg.connect(host=HOST, port=port, user="root", dbname="dev", sslmode="disable", autocommit=True)


def test_psycopg_reads_what_it_has_written(port: int) -> None:
    with connect(port) as client:
        client.execute("DELETE FROM t")
        assert client.execute("INSERT INTO t VALUES (1, 1.5, '2026-01-02 03:04:05', '{1,NULL}'), (2, NULL, NULL, NULL)")
        found = client.execute("SELECT k, v::text, at::text, l FROM t ORDER BY k").fetchall()
        assert found == [(1, "1.5", "2026-01-02 03:04:05", "{1,NULL}"), (2, None, None, None)]
        assert client.execute("SELECT n, v::text FROM sums").fetchall() == [(2, "1.5")]


def test_transactions_belong_to_a_client(port: int) -> None:
    with connect(port) as one, connect(port) as other:
        one.execute("DELETE FROM t")
        one.execute("BEGIN")
        one.execute("INSERT INTO t VALUES (7)")
        assert one.info.transaction_status == psycopg.pq.TransactionStatus.INTRANS
        assert other.execute("SELECT count(*) FROM t").fetchall() == [(0,)]
        one.execute("COMMIT")
        assert other.execute("SELECT count(*) FROM t").fetchall() == [(1,)]


def test_an_error_ends_a_statement_and_not_the_client(port: int) -> None:
    with connect(port) as client:
        with pytest.raises(psycopg.Error, match='relation "nope" does not exist'):
            client.execute("SELECT * FROM nope")
        assert client.execute("SELECT 1").fetchall() == [(1,)]


@pytest.mark.skipif(shutil.which("psql") is None, reason="psql is not installed")
def test_psql_is_served(port: int) -> None:
    command = [
        "psql",
        "-X",
        "-h",
        HOST,
        "-p",
        str(port),
        "-U",
        "root",
        "-d",
        "dev",
        "-At",
        "-c",
        "SELECT 1.50, 'ä', NULL",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env={"PGSSLMODE": "disable"})
    assert done.stdout == "1.50|ä|\n", done.stderr
