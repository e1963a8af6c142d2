"""The server finds out how much memory it may take, and takes no more."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import threading
from pathlib import Path

import psycopg
import pytest

from risingpy.memory import ENVIRONMENT_NAME, available_memory, cgroup_limits, server_memory
from risingpy.server_process import ServerProcess
from tests.abuse.campaign import memory_of_tree


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_limits_of_all_cgroups_around_the_process_count(tmp_path: Path) -> None:
    own, mount = tmp_path / "own", tmp_path / "mount"
    write(own, "0::/system.slice/db.service\n")
    write(mount / "system.slice/db.service/memory.max", "max\n")
    write(mount / "system.slice/memory.max", "4294967296\n")
    write(mount / "other.slice/memory.max", "1\n")
    write(tmp_path / "memory.max", "1\n")
    assert list(cgroup_limits(mount, own)) == [4294967296]


def test_limits_of_the_first_version_and_of_a_container_s_root(tmp_path: Path) -> None:
    own, mount = tmp_path / "own", tmp_path / "mount"
    write(own, "4:cpu,memory:/docker/abc\n3:cpuset:/x\n0::/docker/abc\n")
    write(mount / "memory/memory.limit_in_bytes", "2147483648\n")
    write(mount / "memory.max", "3221225472\n")
    assert list(cgroup_limits(mount, own)) == [2147483648, 3221225472]
    assert list(cgroup_limits(mount, tmp_path / "none")) == []


def test_no_memory_told_means_what_the_machine_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    for told in ("", "0"):
        monkeypatch.setenv(ENVIRONMENT_NAME, told)
        assert server_memory() == available_memory() > 0
    monkeypatch.setenv(ENVIRONMENT_NAME, "3GB")
    assert server_memory() == 3 << 30


# What no limit of a statement counts: texts in the middle of an expression, of users' queries and of the catalog's.
GREEDY = (
    "SELECT max(length(replace(repeat('a', 100000), 'a', repeat(typname, 1000)))) FROM pg_type",
    "SELECT max(length(repeat(typname, 10000000 + oid::int))) FROM pg_type",
    "SELECT max(length(s||s||s||s||s||s||s||s)) FROM (SELECT repeat('x', 100000 + i) AS s"
    " FROM generate_series(1, 2048) AS i) AS t",
)
MEMORY = 2 << 30


def test_what_would_get_the_server_killed_is_refused(tmp_path: Path) -> None:
    environ = {**os.environ, ENVIRONMENT_NAME: str(MEMORY)}
    server = ServerProcess(tmp_path / "data", engine="inprocess", environ=environ)
    stop, most = threading.Event(), [0]

    def watch() -> None:
        while not stop.wait(0.02):
            most[0] = max(most[0], sum(memory_of_tree(server.process.pid).values()))

    watching = threading.Thread(target=watch)
    watching.start()
    try:
        with server.connect() as connection:
            connection.execute("CREATE TABLE t (i INT PRIMARY KEY)")
            connection.execute("CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n FROM t")
            for number in range(2 * len(GREEDY)):
                with pytest.raises(psycopg.errors.OutOfMemory):
                    connection.execute(GREEDY[number % len(GREEDY)])
                connection.execute("INSERT INTO t VALUES (%s)", (number,))
                assert connection.execute("SELECT n FROM v").fetchone() == (number + 1,)
            connection.execute("INSERT INTO t SELECT x FROM generate_series(1000, 500000) AS x")
            assert connection.execute("SELECT n FROM v").fetchone() == (499_007,)
        assert server.process.poll() is None
    finally:
        stop.set()
        watching.join()
        server.kill()
    assert most[0] < MEMORY


def test_child_processes_have_the_limit_of_who_started_the_server() -> None:
    limits = "import resource; print(resource.getrlimit(resource.RLIMIT_DATA)[0])"
    program = (
        "import subprocess, sys; from risingpy.memory_guard import MemoryGuard\n"
        "MemoryGuard().start()\n"
        f"exec({limits!r}); sys.stdout.flush()\n"
        f"subprocess.run([sys.executable, '-c', {limits!r}], preexec_fn=lambda: None)"
    )
    environ = {**os.environ, ENVIRONMENT_NAME: "1GB"}
    told = subprocess.run([sys.executable, "-c", program], env=environ, capture_output=True, text=True, check=True)
    own, of_child = map(int, told.stdout.split())
    assert 0 < own < 8 << 30
    assert of_child == resource.getrlimit(resource.RLIMIT_DATA)[1]


def test_what_other_processes_have_is_taken_from_what_the_server_may_take() -> None:
    """A gigabyte: the server has 300 MB; without other processes it may take 768, beside one of 400 MB about 600."""
    hungry = "import sys; kept = bytearray(400 << 20); print('has it', flush=True); sys.stdin.read()"
    program = (
        "import resource, subprocess, sys; from risingpy.memory_guard import MemoryGuard, own_memory\n"
        "def left(guard):\n"
        "    guard.look()\n"
        "    data = int(open('/proc/self/statm').read().split()[5]) * resource.getpagesize()\n"
        "    return resource.getrlimit(resource.RLIMIT_DATA)[0] - data + own_memory()\n"
        "kept = bytearray(300 << 20)\n"
        f"child = subprocess.Popen([sys.executable, '-c', {hungry!r}], stdin=-1, stdout=-1)\n"
        "child.stdout.readline()\n"
        "print(left(MemoryGuard()), left(MemoryGuard(with_descendants=True)))\n"
        "child.communicate(b'')\n"
    )
    environ = {**os.environ, ENVIRONMENT_NAME: "1GB"}
    told = subprocess.run([sys.executable, "-c", program], env=environ, capture_output=True, text=True, check=True)
    alone, beside = map(int, told.stdout.split())
    assert alone == pytest.approx(768 << 20, rel=0.02)
    assert 540 << 20 < beside < 640 << 20
