"""Credentials stand in no text that the server shows: each is created, used and looked for everywhere."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from risingpy.connectors.secret_options import SECRET_OPTIONS, is_secret, masked_text, masked_value
from risingpy.errors import SqlError
from risingpy.frontend.parser import parse
from risingpy.frontend.shown_text import shown_text
from risingpy.frontend.system_catalog.registry import NAMED_RELATIONS
from tests.connectors.kafka.topics import Topic
from tests.connectors.systems.kafka import KafkaBroker
from tests.meta.conftest import Client, Server

SECRET = "hunter2XYZ"
OTHER = "hunter3XYZ"


class _Receiver(BaseHTTPRequestHandler):
    authorizations: list[str | None]

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.authorizations.append(self.headers["Authorization"])
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Silent."""


@pytest.fixture
def receiver() -> Iterator[HTTPServer]:
    handler = type("Receiver", (_Receiver,), {"authorizations": []})
    server = HTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def everything_shown(client: Client) -> dict[str, str]:
    """All texts of SHOW CREATE and of the system relations, by where they stand."""
    found = {}
    for kind, name in (("SOURCE", "s"), ("TABLE", "fed"), ("SINK", "to_kafka"), ("SINK", "to_http")):
        found[f"SHOW CREATE {name}"] = str(client.run(f"SHOW CREATE {kind} {name}"))
    for relation in NAMED_RELATIONS:
        name = f"{relation.schema}.{relation.name}"
        found[name] = str(client.run(f"SELECT * FROM {name}"))
    return found


def test_a_password_stands_nowhere(
    server: Server, kafka_broker: KafkaBroker, receiver: HTTPServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    client, topic = server.client(), Topic(kafka_broker)
    address = f"http://user:{SECRET}@127.0.0.1:{receiver.server_port}/rows"
    create = topic.source("s", "(id INT)", properties_sasl_password=SECRET)
    client.run(create)
    client.run(create.replace("CREATE SOURCE s", "CREATE TABLE fed", 1))
    client.run(
        f"CREATE SINK to_kafka FROM fed WITH (connector = 'kafka', topic = '{Topic(kafka_broker).name}',"
        f" properties.bootstrap.server = '{kafka_broker.address}', properties.sasl.password = '{SECRET}',"
        " type = 'append-only', force_append_only = 'true') FORMAT PLAIN ENCODE JSON"
    )
    client.run(
        f"CREATE SINK to_http FROM fed WITH (connector = 'http', url = '{address}', headers.authorization = '{SECRET}',"
        " type = 'append-only', force_append_only = 'true')"
    )
    client.run("INSERT INTO fed VALUES (1); WAIT SINK to_http")
    assert receiver.RequestHandlerClass.authorizations == [SECRET]  # type: ignore[attr-defined]
    client.run(f"ALTER SINK to_http SET headers.authorization = '{OTHER}'")
    client.run("INSERT INTO fed VALUES (2); WAIT SINK to_http")
    assert receiver.RequestHandlerClass.authorizations[-1] == OTHER  # type: ignore[attr-defined]
    shown = everything_shown(client)
    assert "properties.sasl.password = '***'" in shown["SHOW CREATE s"]
    assert "://user:***@127.0.0.1" in shown["SHOW CREATE to_http"]
    server.restart()
    shown = {f"{where}, later": text for where, text in everything_shown(server.client()).items()} | shown
    assert [where for where, text in shown.items() if SECRET in text or OTHER in text] == []
    assert SECRET not in caplog.text and OTHER not in caplog.text


@pytest.mark.parametrize(
    "options",
    [
        "connector = 'postgres', host = '127.0.0.1', port = 1, password = '{}', database = 'd', table = 't'",
        "connector = 'jdbc', jdbc.url = 'jdbc:postgresql://127.0.0.1:1/d?user=u&password={}', table.name = 't'",
        "connector = 'redis', redis.url = 'redis://u:{}@127.0.0.1:1/0'",
        "connector = 'http', url = 'http://u:{}@127.0.0.1:1/'",
        "connector = 'http', url = 'ftp://u:{}@127.0.0.1:1/'",
        "connector = 'nats', server_url = 'nats://u:{}@127.0.0.1:1', subject = 's', token = '{}'",
        "connector = 'mqtt', url = 'tcp://127.0.0.1:1', topic = 't', username = 'u', password = '{}', pasword = '{}'",
    ],
)
def test_no_error_has_the_password(server: Server, caplog: pytest.LogCaptureFixture, options: str) -> None:
    caplog.set_level(logging.DEBUG)
    client = server.client()
    client.run("CREATE TABLE t (id INT PRIMARY KEY)")
    with pytest.raises(SqlError) as raised:
        client.run(f"CREATE SINK k FROM t WITH ({options.replace('{}', SECRET)}, primary_key = 'id', type = 'upsert')")
    error = raised.value
    assert SECRET not in f"{error} {error.message} {error.detail} {error.hint} {error.where}"
    assert SECRET not in caplog.text


@pytest.mark.parametrize(
    ("statement", "shown"),
    [
        ("ALTER SINK k SET password = 'a''b'", "ALTER SINK k SET password = '***'"),
        (
            "ALTER SINK k CONNECTOR WITH (url = 'redis://u:it''s@h/0', token = E'a\\'b')",
            "ALTER SINK k CONNECTOR WITH (url = 'redis://u:***@h/0', token = '***')",
        ),
        (
            "EXPLAIN CREATE SINK k FROM t WITH (connector = 'nats', primary_key = 'id', token = x)",
            "EXPLAIN CREATE SINK k FROM t WITH (connector = 'nats', primary_key = 'id', token = '***')",
        ),
        (
            "CREATE SOURCE s (a INT) WITH (connector = 'kafka') FORMAT PLAIN ENCODE AVRO"
            " (schema.registry = 'http://u:p@h', schema.registry.password = $$p$$)",
            "CREATE SOURCE s (a INT) WITH (connector = 'kafka') FORMAT PLAIN ENCODE AVRO"
            " (schema.registry = 'http://u:***@h', schema.registry.password = '***')",
        ),
    ],
)
def test_statements_are_shown_without_secrets(statement: str, shown: str) -> None:
    [_, parsed] = parse(f"SELECT 1; {statement}")
    assert shown_text(parsed) == shown


def test_which_options_are_secrets() -> None:
    assert all(is_secret(name) for names in SECRET_OPTIONS.values() for name in names)
    assert all(map(is_secret, ("Password", "pasword_of_mine.passwd", "headers.x-api-key", "catalog.client-secret")))
    assert not any(
        map(is_secret, ("primary_key", "ignore_key", "key.message", "author", "properties.ssl.ca.location", "topic"))
    )
    assert masked_value("topic", "a@b://c") == "a@b://c"
    assert masked_text("abc and abcd", {"token": "abc", "password": "abcd"}) == "*** and ***"
    assert masked_text("no is no", {"password": "no"}) == "no is no"
