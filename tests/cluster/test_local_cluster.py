"""A server on a Spark cluster of two executors, some of which are killed: its views are right after every epoch.

It takes a minute or two for each place of the state, so it runs where RISINGPY_CLUSTER_ROUNDS says how many rounds;
each kills an executor.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import signal
import time
from pathlib import Path
from typing import Any
from uuid import uuid4

import psutil
import pytest
from psycopg import Connection

from risingpy.server_process import ServerProcess
from tests.cluster.views import change_rows, make_views, require_right
from tests.connectors.systems.s3 import s3_server

__all__ = ["s3_server"]  # a fixture

SOURCE_SECONDS = 60
ROUNDS = int(os.environ.get("RISINGPY_CLUSTER_ROUNDS", "0"))


@pytest.mark.skipif(not ROUNDS, reason="RISINGPY_CLUSTER_ROUNDS is not set")
@pytest.mark.timeout(240 + 60 * ROUNDS)
@pytest.mark.parametrize("place", ["file", "s3"])
def test_views_are_right_though_executors_are_lost(tmp_path: Path, place: str, request: pytest.FixtureRequest) -> None:
    cache = tmp_path / "cache"
    environ = {**os.environ, "RISINGPY_WORKER_CACHE": str(cache)}
    state = (tmp_path / "shared").as_uri()
    if place == "s3":
        state = bucket_in(request, environ)
    files = tmp_path / "files"
    files.mkdir()
    flags = ("--secret-key-file", str(tmp_path / "key"), "--file-roots", str(files))
    cluster = ("--state", state, "--master", "local-cluster[2,1,900]")
    server = ServerProcess(tmp_path / "a", flags=(*flags, *cluster), environ=environ)
    try:
        with server.connect() as connection:
            make_views(connection)
            server.wait_for_spark()
            read_with_a_secret(connection, files)
            for number in range(ROUNDS + 2):
                change_rows(connection, number)
                require_right(connection, number)
                if 1 <= number <= ROUNDS:
                    kill_an_executor(server.process.pid)
                if number == ROUNDS // 2 + 1:
                    shutil.rmtree(cache)
                    connection.execute("ALTER SYSTEM SET parallelism = 3")
            require_lines(connection, files, "c.csv", 3)
            assert list(cache.rglob("*-of-3/data.mdb")), "no epoch has run on the cluster"
            assert not list(cache.rglob("*-of-2/data.mdb")), "shards of before are still there"
            follower = ServerProcess(tmp_path / "b", flags=(*flags, "--follow", state), environ=environ)
            require_internal_tables(connection, follower)
    finally:
        server.kill()


def read_with_a_secret(connection: Connection[Any], files: Path) -> None:
    """A source whose options only the key of secrets opens, which nobody has brought to the executors."""
    connection.execute(f"CREATE SECRET place WITH (backend = 'meta') AS '{files}'")
    connection.execute(
        "CREATE SOURCE lines (a INT) WITH (connector = 'posix_fs', posix_fs.root = SECRET place) "
        "FORMAT PLAIN ENCODE CSV (without_header = 'true')"
    )
    connection.execute("CREATE MATERIALIZED VIEW counted AS SELECT count(*) AS n FROM lines")
    require_lines(connection, files, "a.csv", 1)
    require_lines(connection, files, "b.csv", 2)


def require_lines(connection: Connection[Any], files: Path, name: str, lines: int) -> None:
    """A file comes, with one line; with it, there are so many."""
    (files / name).write_text("1\n")
    end = time.monotonic() + SOURCE_SECONDS
    while connection.execute("SELECT n FROM counted").fetchone() != (lines,):
        lag = connection.execute("SELECT * FROM rw_catalog.rw_source_lag").fetchall()
        assert time.monotonic() < end, lag
        time.sleep(0.2)


def require_internal_tables(connection: Connection[Any], follower: ServerProcess) -> None:
    """The server's tables of state have what a server finds that has only shared storage."""
    try:
        connection.execute("FLUSH")
        names = [name for (name,) in connection.execute("SELECT name FROM rw_catalog.rw_internal_tables ORDER BY 1")]
        assert names
        with follower.connect() as other:
            for name in names:
                query = f'SELECT * FROM "{name}"'
                rows = sorted(connection.execute(query).fetchall(), key=str)
                assert rows == sorted(other.execute(query).fetchall(), key=str), name
            assert any(connection.execute(f'SELECT count(*) FROM "{name}"').fetchone() != (0,) for name in names)
    finally:
        follower.kill()


def bucket_in(request: pytest.FixtureRequest, environ: dict[str, str]) -> str:
    """The URI of a state in an object server, which the environment then leads to."""
    if importlib.util.find_spec("obstore") is None:
        pytest.skip("obstore is not installed")
    url = request.getfixturevalue("s3_server").url
    environ.update(AWS_ACCESS_KEY_ID="test", AWS_SECRET_ACCESS_KEY="test", AWS_REGION="us-east-1", AWS_ENDPOINT_URL=url)
    import boto3

    bucket = f"state-{uuid4()}"
    client = boto3.client(
        "s3", endpoint_url=url, region_name="us-east-1", aws_access_key_id="test", aws_secret_access_key="test"
    )
    client.create_bucket(Bucket=bucket)
    return f"s3://{bucket}/some/db"


def kill_an_executor(server: int) -> None:
    for process in psutil.Process(server).children(recursive=True):
        with contextlib.suppress(psutil.Error):  # it has just ended
            if any("CoarseGrainedExecutorBackend" in word for word in process.cmdline()):
                process.send_signal(signal.SIGKILL)
                return
    raise AssertionError("no executor runs")
