"""A disk that fails at each single write, loses its power, or is full: nothing acknowledged is lost or invented.

Slices run in `make test`; `make fault-test` fails every operation and reopens 100,000 power-loss states.
"""

from __future__ import annotations

import errno
import os
import signal
import subprocess
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import psycopg
import pytest

from risingpy.errors import SqlError
from risingpy.meta.epochs.barrier_loop import EpochRetries
from risingpy.server_process import ServerProcess
from risingpy.storage.fault_points import POINTS, VARIABLE
from tests.faults.harness import compiled_shim, run_harness
from tests.meta.conftest import Server

POWER_STATES = int(os.environ.get("RISINGPY_POWER_STATES", "100"))
SLICE = 50  # every so many operations one fails


@pytest.fixture(scope="module")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    library = compiled_shim(tmp_path_factory.mktemp("shim"))
    if library is None:
        pytest.skip("no C compiler for the library that makes the disk fail")
    return library


@pytest.mark.parametrize("lasting", ["once", "lasting"])
def test_an_operation_fails(shim: Path, lasting: str) -> None:
    first = 3 if lasting == "once" else 11
    found = run_harness("fail", f"{errno.EIO}", str(first), str(SLICE), lasting, timeout=280, preloaded=shim)
    assert found["violations"] == []
    assert found["runs"] > 4


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("runs", [False, True])
@pytest.mark.parametrize("lasting", ["once", "lasting"])
def test_every_operation_fails(shim: Path, lasting: str, runs: bool) -> None:
    numbers = f"{errno.EIO},{errno.ENOSPC}"
    found = run_harness("fail", numbers, "1", "1", lasting, timeout=3500, preloaded=shim, runs=runs)
    print(found)
    assert found["violations"] == []
    assert found["runs"] > 400


@pytest.mark.timeout(300)
@pytest.mark.parametrize("runs", [False, True])
def test_the_named_points(runs: bool) -> None:
    """Of one kind of store each is killed, and the restart after that; of the other the disk fails at each."""
    found = run_harness("points", "kill" if runs else "eio", "1", timeout=280, runs=runs)
    assert found["violations"] == []
    if runs:
        assert found["outcomes"] == {"killed": len(POINTS)}


def test_a_server_dies_at_a_named_point(tmp_path: Path) -> None:
    armed = {**os.environ, VARIABLE: "meta.commit=kill@8"}
    server = ServerProcess(tmp_path / "data", engine="inprocess", environ=armed)
    acknowledged = 0
    try:
        with pytest.raises(psycopg.OperationalError), server.connect() as connection:
            connection.execute("CREATE TABLE t (id INT PRIMARY KEY)")
            for number in count():  # how many come before the eighth epoch is the machine's affair
                connection.execute(f"INSERT INTO t VALUES ({number})")
                acknowledged += 1
        assert server.process.wait(timeout=30) == -signal.SIGKILL
    finally:
        server.kill()
    server = ServerProcess(tmp_path / "data", engine="inprocess")
    try:
        with server.connect() as connection:
            connection.execute("FLUSH")
            rows = connection.execute("SELECT count(*) FROM t").fetchone()
        assert rows is not None and rows[0] in (acknowledged, acknowledged + 1)
    finally:
        server.kill()


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("runs", [False, True])
def test_the_named_points_every_time(runs: bool) -> None:
    found = run_harness("points", "kill,eio,enospc", "1000", timeout=3500, runs=runs)
    print(found)
    assert found["violations"] == []


@pytest.mark.timeout(7200)
@pytest.mark.parametrize("runs", [False, True])
def test_the_power_fails(shim: Path, runs: bool) -> None:
    found = run_harness("power", "1", str(POWER_STATES // 2), timeout=7100, preloaded=shim, runs=runs)
    print(found)
    assert found["violations"] == []
    assert found["operations"] > 200


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own, of 64 MB: the log takes half of it at once."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", str(place)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"cannot mount a small disk: {mounted.stderr.decode().strip()}")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)  # files may still be mapped


def test_a_full_disk_stops_writes_and_nothing_else(small_disk: Path) -> None:
    server = Server(small_disk / "data", retries=EpochRetries(tries=1000, longest_pause=0.5))
    client, reader = server.client(), server.client()
    client.run("CREATE TABLE t (id INT PRIMARY KEY, pad VARCHAR)")
    client.run("CREATE MATERIALIZED VIEW m AS SELECT count(*) AS n, max(id) AS last FROM t")
    client.run("INSERT INTO t VALUES (0, '')")
    client.run("FLUSH")
    free = os.statvfs(small_disk).f_bavail * os.statvfs(small_disk).f_frsize
    (small_disk / "filler").write_bytes(bytes(free - (1 << 20)))
    acknowledged = 0
    with pytest.raises(SqlError) as caught:
        # The log's file is full after some 32 MB, and there is no room for the next.
        for number in range(1, 200):
            client.run(f"INSERT INTO t VALUES ({number}, '{'x' * 400_000}')")
            acknowledged = number
    assert caught.value.sqlstate == "53100"
    assert caught.value.hint is not None
    reader.run("SET visibility_mode TO checkpoint")
    ((seen,),) = reader.run("SELECT n FROM m")
    assert isinstance(seen, int) and seen <= acknowledged + 1
    (small_disk / "filler").unlink()
    resized = subprocess.run(["mount", "-o", "remount,size=400m", str(small_disk)], check=False)
    assert resized.returncode == 0
    client.run(f"INSERT INTO t VALUES ({acknowledged + 1}, '')")
    client.run("FLUSH")
    assert client.run("SELECT * FROM m") == [(acknowledged + 2, acknowledged + 1)]
    server.restart()
    assert server.client().run("SELECT * FROM m") == [(acknowledged + 2, acknowledged + 1)]
    server.stop()
