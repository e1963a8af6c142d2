"""The server that is attacked, its size, and the good client beside the attackers."""

from __future__ import annotations

import http.client
import re
import time
from base64 import b64encode
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
import psycopg

from risingpy.server_process import HOST, ServerProcess
from tests.frontend.authentication.campaign.attacks import CERTIFIED, PASSWORD, VICTIM

SETUP = (
    f"CREATE USER {VICTIM} PASSWORD '{PASSWORD.replace(chr(39), chr(39) * 2)}'",
    f"CREATE USER {CERTIFIED}",
    "CREATE USER good PASSWORD 'secret'",
    "GRANT pg_monitor TO good",
    "CREATE TABLE point (id INT PRIMARY KEY, v INT)",
    "INSERT INTO point SELECT x, x FROM generate_series(1, 1000) AS s(x)",
    "CREATE TABLE hooked (data jsonb) WITH (connector = 'webhook')",
    "GRANT SELECT ON point TO good",
    "GRANT INSERT ON hooked TO good",
)
RULES = (
    "hostnossl all root 127.0.0.1/32 trust",
    f"hostssl all {CERTIFIED} all trust",
    "host all all all scram-sha-256",
)
_SETTLING_SECONDS = 60.0
_WEBHOOKS = re.compile(r"webhooks: POST http://\S+:(\d+)/webhook")
Seconds = dict[str, list[float]]


@dataclass(frozen=True, slots=True)
class Size:
    """What a server holds; the memory in bytes."""

    memory: int
    threads: int
    descriptors: int

    @classmethod
    def of(cls, pid: int) -> Size:
        process = psutil.Process(pid)
        return cls(process.memory_info().rss, process.num_threads(), process.num_fds())

    @classmethod
    def settled(cls, pid: int, usual: Size) -> Size:
        """The size when the attackers' connections have ended, or after a minute."""
        deadline = time.monotonic() + _SETTLING_SECONDS
        while time.monotonic() < deadline:
            size = cls.of(pid)
            if size.threads <= usual.threads and size.descriptors <= usual.descriptors:
                break
            time.sleep(0.1)
        return size


@dataclass(frozen=True, slots=True)
class Besieged:
    """A server in a process of its own, with TLS and its three listeners."""

    server: ServerProcess
    webhook_port: int

    @property
    def pid(self) -> int:
        return self.server.process.pid

    @property
    def http_port(self) -> int:
        assert self.server.http_port is not None
        return self.server.http_port


@contextmanager
def besieged(directory: Path, certificates: Path) -> Iterator[Besieged]:
    rules = [word for rule in RULES for word in ("--hba", rule)]
    files = ["--tls-cert", certificates / "server.crt", "--tls-key", certificates / "server.key"]
    ports = ["--http-port", "0", "--webhook-port", "0", "--unix-socket-directory", "none"]
    flags = [str(word) for word in (*rules, *files, *ports)]
    server = ServerProcess(directory / "data", engine="inprocess", log_level="error", flags=flags)
    try:
        with server.connect(sslmode="disable") as connection:
            for text in SETUP:
                connection.execute(text)
        yield Besieged(server, _webhook_port(server))
    finally:
        server.kill()


def _webhook_port(server: ServerProcess) -> int:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if found := _WEBHOOKS.search("".join(server.output)):
            return int(found[1])
        time.sleep(0.05)
    raise AssertionError("the server does not say where its webhooks are")


def good_work(place: Besieged, done: Callable[[int], bool]) -> Seconds:
    """Logs in, reads a point, asks for metrics, posts to a webhook, until it is done; the seconds of each."""
    seconds: Seconds = defaultdict(list)

    @contextmanager
    def timed(what: str) -> Iterator[None]:
        began = time.monotonic()
        yield
        seconds[what].append(time.monotonic() - began)

    login = {"host": HOST, "port": place.server.port, "user": "good", "password": "secret", "dbname": "dev"}
    with psycopg.connect(**login, sslmode="require", autocommit=True) as kept:  # type: ignore[arg-type]
        rounds = 0
        while not done(rounds):
            rounds += 1
            with timed("login"), psycopg.connect(**login, sslmode="disable") as connection:  # type: ignore[arg-type]
                assert connection.execute("SELECT current_user").fetchone() == ("good",)
            for number in range(1, 6):
                with timed("point read"):
                    assert kept.execute("SELECT v FROM point WHERE id = %s", (number,)).fetchone() == (number,)
            with timed("health"):
                assert _asked(place.http_port, "GET", "/healthz") == 200
            with timed("metrics"):
                assert _asked(place.http_port, "GET", "/metrics") == 200
            with timed("webhook"):
                assert _asked(place.webhook_port, "POST", "/webhook/dev/public/hooked", b"{}") == 200
            time.sleep(0.01)
    return seconds


def _asked(port: int, method: str, path: str, body: bytes | None = None) -> int:
    connection = http.client.HTTPConnection(HOST, port, timeout=60)
    try:
        credentials = b64encode(b"good:secret").decode()
        connection.request(method, path, body, {"Authorization": f"Basic {credentials}"})
        answer = connection.getresponse()
        answer.read()
        return answer.status
    finally:
        connection.close()
