"""/healthz and /readyz: alive from the first moment, ready while clients are served and epochs get on."""

from __future__ import annotations

import http.client
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from risingpy.errors import EpochsCannotRun
from risingpy.frontend.monitoring import MonitoringServer, readiness, server
from risingpy.meta.database import Database
from risingpy.meta.epochs.barrier_loop import EpochRetries
from risingpy.meta.epochs.in_process_runner import InProcessRunner
from risingpy.meta.epochs.runner import EpochFailed
from risingpy.server_process import HOST, ServerProcess
from tests.meta.conftest import Client, FaultyRunner

_SECONDS = 10.0


@pytest.fixture
def monitoring() -> Iterator[MonitoringServer]:
    listening = MonitoringServer(HOST, 0)
    yield listening
    listening.stop()


@contextmanager
def database(directory: Path, *faults: Exception, pause: float = 0.01) -> Iterator[Database]:
    """A database whose first epochs fail."""
    opened = Database(directory / "data", parallelism=1)
    runner = FaultyRunner(InProcessRunner(opened.data_dir))
    runner.faults += faults
    opened.start(runner, EpochRetries(tries=2, first_pause=pause, longest_pause=pause))
    try:
        yield opened
    finally:
        opened.close()


def ask(port: int, path: str, method: str = "GET") -> tuple[int, str]:
    connection = http.client.HTTPConnection(HOST, port, timeout=_SECONDS)
    connection.request(method, path)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text


def until_ready_says(port: int, status: int, words: str) -> None:
    end = time.monotonic() + _SECONDS
    while not ((found := ask(port, "/readyz"))[0] == status and words in found[1]):
        assert time.monotonic() < end, found
        time.sleep(0.01)


def test_a_server_that_recovers_is_alive_and_not_ready(monitoring: MonitoringServer, tmp_path: Path) -> None:
    assert ask(monitoring.port, "/healthz") == (200, "alive\n")
    status, reason = ask(monitoring.port, "/readyz")
    assert (status, "recovers" in reason) == (503, True)
    status, text = ask(monitoring.port, "/metrics")
    assert (status, "risingpy_ready 0.0" in text, "risingpy_sessions" in text) == (200, True, False)
    with database(tmp_path) as opened:
        monitoring.serves(opened)
        assert ask(monitoring.port, "/readyz") == (200, "ready\n")
        monitoring.announce_stop()
        assert ask(monitoring.port, "/readyz") == (503, "the server is stopping\n")
        assert ask(monitoring.port, "/healthz")[0] == 200


def test_a_failing_epoch_and_one_that_gets_on_again(monitoring: MonitoringServer, tmp_path: Path) -> None:
    with database(tmp_path, EpochFailed("no luck"), pause=2.0) as opened:
        monitoring.serves(opened)
        client = Client(opened)
        writing = threading.Thread(target=client.run, args=("CREATE TABLE t (x int); INSERT INTO t VALUES (1); FLUSH",))
        writing.start()
        until_ready_says(monitoring.port, 503, "tried again: no luck")
        assert "risingpy_epoch_failures_total 1.0" in ask(monitoring.port, "/metrics")[1]
        writing.join(_SECONDS)
        until_ready_says(monitoring.port, 200, "ready")


def test_epochs_that_cannot_run(monitoring: MonitoringServer, tmp_path: Path) -> None:
    with database(tmp_path, *[EpochFailed("no luck")] * 40, pause=0.05) as opened:
        monitoring.serves(opened)
        client = Client(opened)
        with pytest.raises(EpochsCannotRun, match="epochs cannot run: no luck"):
            client.run("CREATE TABLE t (x int); INSERT INTO t VALUES (1); FLUSH")
        until_ready_says(monitoring.port, 503, "epochs cannot run, and are tried again: no luck")
        assert ask(monitoring.port, "/healthz") == (200, "alive\n")
        assert client.run("SELECT epoch_failure FROM rw_state_store") == [("no luck",)]
        until_ready_says(monitoring.port, 200, "ready")
        assert client.run("SELECT x FROM t") == [(1,)]
        assert client.run("SELECT epoch_failure FROM rw_state_store") == [(None,)]


def test_an_epoch_that_does_not_end(
    monitoring: MonitoringServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with database(tmp_path) as opened:
        monitoring.serves(opened)
        assert ask(monitoring.port, "/readyz")[0] == 200
        opened.introspection.epoch_times.begin()
        monkeypatch.setattr(readiness, "STALLED_SECONDS", 0.05)
        until_ready_says(monitoring.port, 503, "an epoch has been running for")
        opened.introspection.epoch_times.rest()
        assert ask(monitoring.port, "/readyz")[0] == 200


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/", 302),
        ("GET", "/metrics/x", 404),
        ("GET", "/readyz?verbose=1", 503),
        ("HEAD", "/healthz", 200),
        ("POST", "/metrics", 405),
        ("DELETE", "/healthz", 405),
    ],
)
def test_other_requests(monitoring: MonitoringServer, method: str, path: str, status: int) -> None:
    found, text = ask(monitoring.port, path, method)
    assert found == status
    assert (text == "") == (method == "HEAD")


def test_answers_do_not_say_which_python_answers(monitoring: MonitoringServer) -> None:
    connection = http.client.HTTPConnection(HOST, monitoring.port, timeout=10)
    connection.request("GET", "/healthz")
    assert connection.getresponse().headers["Server"] == "RisingPy"
    connection.close()


def test_slow_and_many_clients_hold_nothing_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "REQUEST_SECONDS", 2.0)
    listening = MonitoringServer(HOST, 0)
    try:
        slow = [socket.create_connection((HOST, listening.port)) for _ in range(server.MOST_CONNECTIONS)]
        for each in slow:
            each.sendall(b"GET /heal")
        assert ask(listening.port, "/healthz") == (200, "alive\n")  # one of the slow has lost its place
        for each in slow:
            each.settimeout(_SECONDS)
            while each.recv(1 << 16):
                pass  # until the server closes it
            each.close()
        assert ask(listening.port, "/healthz") == (200, "alive\n")
    finally:
        listening.stop()


def test_a_port_that_is_taken_is_said(tmp_path: Path) -> None:
    with socket.create_server((HOST, 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(RuntimeError, match=rf"could not listen on 127.0.0.1:{port} for monitoring"):
            ServerProcess(tmp_path / "data", engine="inprocess", flags=["--http-port", str(port)])


def test_without_the_option_there_is_no_port(tmp_path: Path) -> None:
    process = ServerProcess(tmp_path / "data", engine="inprocess")
    try:
        assert process.http_port is None
        assert "metrics" not in "".join(process.output)
    finally:
        process.stop()
