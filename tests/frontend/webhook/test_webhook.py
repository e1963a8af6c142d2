"""Webhooks over real HTTP: what is accepted is durable, what is refused has a reason, slow clients hold nothing up."""

from __future__ import annotations

import hashlib
import hmac
import http.client
import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from risingpy.errors import SqlError
from risingpy.frontend.webhook import WebhookServer
from risingpy.frontend.webhook.server import LARGEST_BODY
from tests.engines import Engine
from tests.meta.conftest import Server

SECRET = "it's mine"
SIGNED = (
    "CREATE TABLE signed (data jsonb) WITH (connector = 'webhook') VALIDATE AS secure_compare("
    "headers->>'x-hub-signature-256', 'sha256=' || encode(hmac('it''s mine', data, 'sha256'), 'hex'))"
)


@pytest.fixture
def server(tmp_path: Path, engine: Engine) -> Iterator[Server]:
    started = Server(tmp_path / "data", engine)
    yield started
    if started.is_running:
        started.stop()


@pytest.fixture
def hooks(server: Server) -> Iterator[WebhookServer]:
    listening = WebhookServer("127.0.0.1", 0, server.database, request_seconds=1.0)
    listening.start()
    yield listening
    listening.stop()


def post(port: int, path: str, body: bytes, headers: dict[str, str] | None = None) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("POST", path, body, headers or {})
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text


def signature(body: bytes) -> dict[str, str]:
    return {"X-Hub-Signature-256": "sha256=" + hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()}


@pytest.mark.on_spark
def test_a_request_is_a_row_that_views_have(server: Server, hooks: WebhookServer) -> None:
    client = server.client()
    client.run(
        "CREATE TABLE t (data jsonb, id int AS ((data->>'id')::int) PRIMARY KEY, kind text DEFAULT 'web')"
        " WITH (connector = 'webhook')"
    )
    client.run("CREATE MATERIALIZED VIEW v AS SELECT id, kind, data->>'a' AS a FROM t")
    assert post(hooks.port, "/webhook/dev/public/t", b'{"id": 1, "a": "x"}') == (200, "")
    assert post(hooks.port, "/webhook/dev/public/t", b'{"id": 1, "a": "x"}') == (200, "")  # its sender tries again
    assert client.run("FLUSH; SELECT * FROM v") == [(1, "web", "x")]


def test_what_was_answered_is_there_after_a_restart(server: Server, hooks: WebhookServer) -> None:
    server.client().run(SIGNED)
    body = b'{"a": [1.50, null]}'
    assert post(hooks.port, "/webhook/dev/public/signed", body, signature(body)) == (200, "")
    hooks.stop()
    server.restart()
    again = WebhookServer("127.0.0.1", 0, server.database)
    again.start()
    try:
        assert post(again.port, "/webhook/dev/public/signed", b"2", signature(b"2")) == (200, "")
        assert post(again.port, "/webhook/dev/public/signed", b"3", signature(b"2"))[0] == 401
    finally:
        again.stop()
    assert server.client().run("FLUSH; SELECT data::varchar FROM signed ORDER BY 1") == [("2",), (body.decode(),)]


def test_a_wrong_or_missing_signature_is_401(server: Server, hooks: WebhookServer) -> None:
    server.client().run(SIGNED)
    for headers in ({}, signature(b'{"a": 2}'), {"X-Hub-Signature-256": ""}):
        assert post(hooks.port, "/webhook/dev/public/signed", b'{"a": 1}', headers)[0] == 401
    assert server.client().run("FLUSH; SELECT count(*) FROM signed") == [(0,)]


def test_the_secret_has_a_name(server: Server, hooks: WebhookServer) -> None:
    """ALTER SECRET counts from the next request on; nothing shows the value."""
    client = server.client()
    client.run("CREATE SECRET mine WITH (backend = 'meta') AS 'it''s mine'")
    client.run(SIGNED.replace("VALIDATE AS", "VALIDATE SECRET mine AS").replace("'it''s mine'", "mine"))
    path, body = "/webhook/dev/public/signed", b"1"
    assert post(hooks.port, path, body, signature(body)) == (200, "")
    assert post(hooks.port, path, body, signature(b"2"))[0] == 401
    client.run("ALTER SECRET mine AS 'another'")
    assert post(hooks.port, path, body, signature(body))[0] == 401
    client.run("ALTER SECRET mine AS 'it''s mine'")
    hooks.stop()
    server.restart()
    again = WebhookServer("127.0.0.1", 0, server.database)
    again.start()
    try:
        assert post(again.port, path, body, signature(body)) == (200, "")
    finally:
        again.stop()
    client = server.client()
    with pytest.raises(SqlError, match="cannot drop secret mine"):
        client.run("DROP SECRET mine")
    assert "s mine" not in str(client.run("SHOW CREATE TABLE signed"))
    client.run("DROP TABLE signed; DROP SECRET mine")


@pytest.mark.parametrize(
    "name, sqlstate, message",
    [
        ("nosuch", "42704", 'secret "nosuch" does not exist'),
        ("headers", "42P16", 'the secret cannot have the name "headers"'),
        ("data", "42P16", 'the secret cannot have the name "data"'),
    ],
)
def test_a_wrong_name_of_a_secret(server: Server, name: str, sqlstate: str, message: str) -> None:
    client = server.client()
    for known in ("headers", "data"):
        client.run(f"CREATE SECRET {known} WITH (backend = 'meta') AS 'x'")
    with pytest.raises(SqlError) as caught:
        client.run(f"CREATE TABLE t (data jsonb) WITH (connector = 'webhook') VALIDATE SECRET {name} AS true")
    assert (caught.value.sqlstate, message in caught.value.message) == (sqlstate, True)
    assert caught.value.position == 74


def test_a_batch_is_whole_or_not_there(server: Server, hooks: WebhookServer) -> None:
    client = server.client()
    client.run("CREATE TABLE b (data jsonb) WITH (connector = 'webhook', is_batched = true)")
    good = b'{"n": 1}\r\n\n{"n": 2}\n'
    assert post(hooks.port, "/webhook/dev/public/b", good) == (200, "")
    status, text = post(hooks.port, "/webhook/dev/public/b", b'{"n": 3}\n{"n": \n')
    assert (status, "json" in text) == (400, True)
    assert post(hooks.port, "/webhook/dev/public/b", b"\n\n")[0] == 400
    assert client.run("FLUSH; SELECT (data->>'n')::int FROM b ORDER BY 1") == [(1,), (2,)]


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/webhook/dev/public/none", b"1", 404),
        ("/webhook/other/public/t", b"1", 404),
        ("/webhook/dev/public/plain", b"1", 404),
        ("/t", b"1", 404),
        ("/webhook/dev/public/t", b"", 400),
        ("/webhook/dev/public/t", b"{", 400),
        ("/webhook/dev/public/t", b"[" * 200_000, 400),
        ("/webhook/dev/public/t", b'"\xff"', 400),
        ("/webhook/dev/public/t", b'{"id": "no number"}', 400),
        ("/webhook/dev/public/t", b'{"other": 1}', 400),
    ],
)
def test_a_refused_request_says_why(server: Server, hooks: WebhookServer, path: str, body: bytes, status: int) -> None:
    client = server.client()
    client.run("CREATE TABLE t (data jsonb, id int AS ((data->>'id')::int) NOT NULL) WITH (connector = 'webhook')")
    client.run("CREATE TABLE plain (data jsonb)")
    answer, text = post(hooks.port, path, body)
    assert (answer, bool(text)) == (status, True)
    assert client.run("FLUSH; SELECT count(*) FROM t") == [(0,)]


def test_sizes_lengths_and_methods(server: Server, hooks: WebhookServer) -> None:
    server.client().run("CREATE TABLE t (data jsonb) WITH (connector = 'webhook')")
    connection = http.client.HTTPConnection("127.0.0.1", hooks.port, timeout=60)
    for method, headers, status in (
        ("GET", {}, 405),
        ("POST", {"Content-Length": str(LARGEST_BODY + 1)}, 413),
        ("POST", {"Content-Length": "9" * 5000}, 413),
        ("POST", {"Content-Length": "-1"}, 411),
        ("POST", {"Transfer-Encoding": "chunked"}, 411),
    ):
        connection.request(method, "/webhook/dev/public/t", headers=headers)
        assert connection.getresponse().status == status
        connection.close()


def test_a_slow_client_ends_and_others_do_not_wait(server: Server, hooks: WebhookServer) -> None:
    server.client().run("CREATE TABLE t (data jsonb) WITH (connector = 'webhook')")
    with socket.create_connection(("127.0.0.1", hooks.port), timeout=60) as slow:
        slow.sendall(b"POST /webhook/dev/public/t HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\n{")
        assert post(hooks.port, "/webhook/dev/public/t", b"1") == (200, "")
        assert slow.recv(4096).startswith(b"HTTP/1.1 408 ")
    assert server.client().run("FLUSH; SELECT count(*) FROM t") == [(1,)]


def test_many_connections_and_many_requests_a_connection(server: Server, hooks: WebhookServer) -> None:
    server.client().run("CREATE TABLE t (data jsonb) WITH (connector = 'webhook')")
    statuses: list[int] = []

    def send(first: int) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", hooks.port, timeout=60)
        for number in range(first, first + 20):
            connection.request("POST", "/webhook/dev/public/t", json.dumps(number))
            answer = connection.getresponse()
            answer.read()
            statuses.append(answer.status)

    threads = [threading.Thread(target=send, args=(20 * i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert statuses == [200] * 120
    assert server.client().run("FLUSH; SELECT count(DISTINCT data), count(*) FROM t") == [(120, 120)]


def test_an_altered_table_goes_on(server: Server, hooks: WebhookServer) -> None:
    client = server.client()
    client.run(SIGNED)
    client.run("ALTER TABLE signed RENAME COLUMN data TO body; ALTER TABLE signed ADD COLUMN more int")
    [[_, definition]] = client.run("SHOW CREATE TABLE signed")
    assert post(hooks.port, "/webhook/dev/public/signed", b"1", signature(b"1")) == (200, "")
    client.run("DROP TABLE signed")
    client.run(str(definition).replace(", more integer", ""))  # what SHOW gives creates it again
    assert post(hooks.port, "/webhook/dev/public/signed", b"2", signature(b"2")) == (200, "")
    assert client.run("FLUSH; SELECT body::varchar FROM signed") == [("2",)]
    with pytest.raises(SqlError, match="the webhook of the table fills it"):
        client.run("ALTER TABLE signed DROP COLUMN body")


@pytest.mark.parametrize(
    ("sql", "sqlstate", "message"),
    [
        ("(data jsonb) WITH (connector = 'webhook') FORMAT PLAIN ENCODE JSON", "22023", "no FORMAT"),
        ("(data jsonb) WITH (connector = 'webhook', wrong = 1)", "22023", 'unknown option "wrong"'),
        ("(data jsonb) WITH (connector = 'webhook', is_batched = 2)", "22023", "must be true or false"),
        ("(a jsonb DEFAULT '{}') WITH (connector = 'webhook')", "42P16", "needs a column that a request fills"),
        ("(data jsonb) WITH (connector = 'webhook', wait_for_persistence = 2)", "22023", "must be true or false"),
        ("(headers jsonb) WITH (connector = 'webhook')", "42P16", "cannot have the name"),
        ("(data jsonb) WITH (connector = 'webhook') VALIDATE AS 1", "42804", "must be type boolean"),
        ("(data jsonb) WITH (connector = 'webhook') VALIDATE AS other = 'x'", "42703", "other"),
        ("(data jsonb) WITH (connector = 'webhook') VALIDATE SECRET s AS true", "42704", "does not exist"),
    ],
)
def test_create_names_the_mistake(server: Server, sql: str, sqlstate: str, message: str) -> None:
    with pytest.raises(SqlError, match=message) as raised:
        server.client().run(f"CREATE TABLE t {sql}")
    assert raised.value.sqlstate == sqlstate


COLUMNS = (
    'CREATE TABLE orders (id int PRIMARY KEY, "Name" varchar, price numeric, tags int[], at timestamptz DEFAULT'
    " '2026-01-01 00:00:00+00', twice int AS (id * 2)) WITH (connector = 'webhook', wait_for_persistence = 'true',)"
    " VALIDATE AS secure_compare(headers->>'x-hub-signature-256',"
    " 'sha256=' || encode(hmac('it''s mine', payload, 'sha256'), 'hex'))"
)


def test_members_of_the_body_are_columns(server: Server, hooks: WebhookServer) -> None:
    client = server.client()
    client.run(COLUMNS)
    client.run("CREATE MATERIALIZED VIEW v AS SELECT id, price, twice FROM orders")
    path = "/webhook/dev/public/orders"
    for body in (b'{"id": 1, "Name": "x", "price": 1.25, "tags": [1, null], "more": {}}', b'{"id": 2}'):
        assert post(hooks.port, path, body, signature(body)) == (200, "")
    for body, reason in ((b'{"id": "a"}', "id"), (b"[1]", "not an object"), (b'{"Name": "y"}', "null value")):
        status, text = post(hooks.port, path, body, signature(body))
        assert (status, reason in text) == (400, True), text
    assert post(hooks.port, path, b'{"id": 3}', signature(b"{}"))[0] == 401
    columns = 'id, "Name", price::text, tags::text, at::text, twice'
    [first, second] = client.run(f"FLUSH; SELECT {columns} FROM orders ORDER BY 1")
    assert first == (1, "x", "1.25", "{1,NULL}", "2026-01-01 00:00:00+00", 2)
    assert second == (2, None, None, None, "2026-01-01 00:00:00+00", 4)
    assert client.run("SELECT id, twice FROM v ORDER BY 1") == [(1, 2), (2, 4)]


def test_columns_of_a_batch_and_of_an_altered_table(server: Server, hooks: WebhookServer) -> None:
    client = server.client()
    client.run("CREATE TABLE b (id int, n varchar) WITH (connector = 'webhook', is_batched = true)")
    path = "/webhook/dev/public/b"
    assert post(hooks.port, path, b'{"id": 1, "n": "x"}\n{"id": 2}\n') == (200, "")
    status, text = post(hooks.port, path, b'{"id": 3}\n{"id": "no"}\n')
    assert (status, "line 2: " in text) == (400, True)
    client.run("ALTER TABLE b RENAME COLUMN n TO m")
    assert post(hooks.port, path, b'{"id": 4, "m": "y", "n": "z"}') == (200, "")
    assert client.run("FLUSH; SELECT * FROM b ORDER BY 1") == [(1, "x"), (2, None), (4, "y")]
    with pytest.raises(SqlError, match="the webhook of the table fills it"):
        client.run("ALTER TABLE b DROP COLUMN m")
