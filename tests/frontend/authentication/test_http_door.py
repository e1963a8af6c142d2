"""The listeners of HTTP follow the door's rules: addresses, users, passwords, certificates, TLS on the same port."""

from __future__ import annotations

import http.client
import socket
import ssl
import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from risingpy.frontend.authentication.guessing import FREE_FAILURES
from risingpy.frontend.authentication.http_door import HttpDoor, basic_credentials
from risingpy.frontend.monitoring import MonitoringServer
from risingpy.frontend.results import StartupParameters
from risingpy.frontend.session import open_session
from risingpy.frontend.webhook import WebhookServer
from risingpy.meta.database import Database
from tests.frontend.authentication.conftest import Served

Listening = tuple[MonitoringServer, WebhookServer]
PASSWORDS = "host all all all scram-sha-256"


@pytest.fixture(scope="module", autouse=True)
def tables(database: Database) -> None:
    session = open_session(database, StartupParameters("root", "dev"))
    texts = (
        "CREATE USER watcher PASSWORD 'secret'; GRANT pg_monitor TO watcher; CREATE DATABASE web;"
        "CREATE TABLE plain (data jsonb) WITH (connector = 'webhook');"
        "CREATE TABLE checked (data jsonb) WITH (connector = 'webhook') VALIDATE AS headers->>'x-key' = 'it';"
        "USE web; CREATE TABLE inside (data jsonb) WITH (connector = 'webhook')"
    )
    for text in texts.split(";"):
        [statement] = session.split(text)
        session.execute(session.prepare(statement, ()), ())
        session.sync()
    session.close()


@pytest.fixture
def listen(serve: Callable[..., Served]) -> Iterator[Callable[..., Listening]]:
    """Starts both listeners behind the door of a server."""
    started: list[Listening] = []

    def listen(*hba: str, tls: bool = False) -> Listening:
        served = serve(*hba, tls=tls)
        door = HttpDoor(served.door)
        monitoring = MonitoringServer("127.0.0.1", 0)
        monitoring.serves(served.database, door, lambda: served.wire.tls)
        webhooks = WebhookServer(
            "127.0.0.1", 0, served.database, request_seconds=0.5, door=door, tls=lambda: served.wire.tls
        )
        webhooks.start()
        started.append((monitoring, webhooks))
        return started[-1]

    yield listen
    for monitoring, webhooks in started:
        monitoring.stop()
        webhooks.stop()


def basic(user: str, password: str) -> dict[str, str]:
    return {"Authorization": "Basic " + b64encode(f"{user}:{password}".encode()).decode()}


def asked(
    port: int,
    path: str,
    headers: dict[str, str] | None = None,
    *,
    body: bytes | None = None,
    tls: ssl.SSLContext | None = None,
) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    if tls is not None:
        connection = http.client.HTTPSConnection("localhost", port, timeout=60, context=tls)
    connection.request("GET" if body is None else "POST", path, body, headers or {})
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text


def test_metrics_need_a_user_who_may_monitor(listen: Callable[..., Listening]) -> None:
    port = listen(PASSWORDS)[0].port
    assert asked(port, "/metrics")[0] == 401
    assert asked(port, "/metrics", basic("watcher", "wrong"))[0] == 401
    assert asked(port, "/metrics", basic("nobody", "secret")) == (
        401,
        'password authentication failed for user "nobody"\n',
    )
    assert asked(port, "/metrics", basic("late", "secret"))[0] == 401  # its password has expired
    assert asked(port, "/metrics", basic("sleeper", "secret")) == (403, 'role "sleeper" is not permitted to log in\n')
    assert asked(port, "/metrics", basic("alice", "secret")) == (403, "metrics are for members of pg_monitor\n")
    status, text = asked(port, "/metrics", basic("watcher", "secret"))
    assert status == 200 and "risingpy_logins_total" in text
    assert asked(port, "/healthz")[0] == asked(port, "/readyz")[0] == 200  # for who starts and stops servers


def test_rules_look_at_addresses_and_users(listen: Callable[..., Listening]) -> None:
    port = listen("host all root 127.0.0.1/32 reject", PASSWORDS)[0].port
    assert asked(port, "/metrics")[0] == 403
    assert asked(port, "/metrics", basic("watcher", "secret"))[0] == 200
    assert asked(listen("host all all 10.0.0.0/8 trust")[0].port, "/metrics")[0] == 403
    assert asked(listen("host all all all trust")[0].port, "/metrics")[0] == 200


def test_webhooks(listen: Callable[..., Listening], database: Database) -> None:
    port = listen(PASSWORDS)[1].port
    plain, checked = "/webhook/dev/public/plain", "/webhook/dev/public/checked"
    assert asked(port, plain, body=b"{}")[0] == 401
    assert asked(port, plain, basic("root", "x"), body=b"{}")[0] == 401
    assert asked(port, plain, {"X-Key": "it"}, body=b"{}")[0] == 401
    assert asked(port, checked, {"X-Key": "it"}, body=b"{}") == (200, "")  # VALIDATE knows its senders
    assert asked(port, checked, {"X-Key": "no"}, body=b"{}")[0] == 401
    port = listen("host all all all reject")[1].port
    assert asked(port, checked, {"X-Key": "it"}, body=b"{}")[0] == 403
    port = listen("host web all all trust", "host all all all reject")[1].port
    assert asked(port, "/webhook/web/public/inside", body=b'{"a": 1}') == (200, "")
    assert asked(port, plain, body=b"{}")[0] == 403
    assert asked(port, "/webhook/web/public/plain", body=b"{}")[0] == 404
    assert asked(port, "/webhook/nosuch/public/plain", body=b"{}")[0] == 404


def test_tls_on_the_same_port(listen: Callable[..., Listening], certificates: Path) -> None:
    monitoring, webhooks = listen("hostssl all watcher all cert", "hostssl all all all scram-sha-256", tls=True)
    known = ssl.create_default_context(cafile=str(certificates / "ca.crt"))
    assert asked(monitoring.port, "/metrics", basic("watcher", "secret"), tls=known)[0] == 403  # a certificate, it says
    assert asked(monitoring.port, "/metrics", basic("alice", "secret"), tls=known)[0] == 403
    assert asked(monitoring.port, "/metrics", basic("alice", "secret"))[0] == 403  # no rule for what is not encrypted
    assert asked(monitoring.port, "/healthz", tls=known)[0] == asked(monitoring.port, "/healthz")[0] == 200
    assert asked(webhooks.port, "/webhook/dev/public/plain", basic("alice", "wrong"), body=b"{}", tls=known)[0] == 401
    robot = ssl.create_default_context(cafile=str(certificates / "ca.crt"))
    robot.load_cert_chain(certificates / "robot.crt", certificates / "robot.key")
    port = listen("hostssl all all all cert", tls=True)[0].port
    assert asked(port, "/metrics", tls=robot) == (403, "metrics are for members of pg_monitor\n")
    assert asked(port, "/metrics", basic("watcher", "secret"), tls=robot)[1].startswith(
        "certificate authentication failed"
    )
    stranger = ssl.create_default_context(cafile=str(certificates / "other-ca.crt"))
    with pytest.raises(ssl.SSLCertVerificationError):
        asked(monitoring.port, "/healthz", tls=stranger)


def test_half_a_handshake_ends(listen: Callable[..., Listening], certificates: Path) -> None:
    webhooks = listen(PASSWORDS, tls=True)[1]
    slow = []
    for begin in (b"", b"\x16", b"\x16\x03\x01\x02\x00\x01\x00", b"POST / HTTP/1.1\r\nContent-"):
        client = socket.create_connection(("127.0.0.1", webhooks.port), timeout=30)
        client.sendall(begin)
        slow.append(client)
    for client in slow:  # each is ended by the server, whatever it has begun with
        while client.recv(1000):
            pass
        client.close()
    known = ssl.create_default_context(cafile=str(certificates / "ca.crt"))
    assert asked(webhooks.port, "/webhook/dev/public/plain", body=b"{}", tls=known)[0] == 401


def test_guesses_are_slowed(listen: Callable[..., Listening]) -> None:
    port = listen(PASSWORDS)[0].port
    for _ in range(FREE_FAILURES):
        assert asked(port, "/metrics", basic("one", "guess"))[0] == 401
    begin = time.monotonic()
    assert asked(port, "/metrics", basic("one", "guess"))[0] == 401
    assert time.monotonic() - begin >= 0.1
    begin = time.monotonic()
    assert asked(port, "/metrics", basic("watcher", "secret"))[0] == 200  # another user waits for nobody


@pytest.mark.parametrize(
    ("header", "found"),
    [
        (None, None),
        ("", None),
        ("Bearer abc", None),
        ("Basic", None),
        ("Basic ====", None),
        ("Basic " + b64encode(b"no colon").decode(), None),
        ("Basic " + b64encode(b":password").decode(), None),
        ("Basic " + b64encode(b"a\0b:c").decode(), None),
        ("Basic " + b64encode(b"\xff:c").decode(), None),
        ("basic " + b64encode("ü:p:ß".encode()).decode(), ("ü", "p:ß")),
        ("Basic " + b64encode(b"u:").decode(), ("u", "")),
    ],
)
def test_what_a_header_says(header: str | None, found: tuple[str, str] | None) -> None:
    assert basic_credentials(header) == found
