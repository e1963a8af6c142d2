"""Sinks to a real Redis, NATS, MQTT broker and HTTP server."""

from __future__ import annotations

import asyncio
import json
import threading
import time
import uuid
from collections.abc import Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from risingpy.connectors.formats.decoder import MessageFormat
from risingpy.connectors.targets.choice import target_of
from risingpy.connectors.targets.target import SinkSchema, SinkTarget, SinkType
from risingpy.errors import FeatureNotSupported, InvalidParameterValue, SqlError, TargetUnavailable, UndefinedTable
from risingpy.types import BIGINT, VARCHAR
from tests.connectors.targets.changes import Row, changes_of
from tests.connectors.targets.killed import kill_everywhere

COLUMNS = (("id", BIGINT), ("name", VARCHAR))


def schema_of(type_: SinkType, key: tuple[int, ...] = (0,)) -> SinkSchema:
    return SinkSchema("s" + uuid.uuid4().hex[:8], COLUMNS, key, type_)


def three_rows(schema: SinkSchema, epoch: int) -> list[Any]:
    return [changes_of(schema, [(1, [str(epoch), f"row {n}"]) for n in range(3)])]


# Redis


def keys_of(url: str) -> dict[str, Any]:
    import redis

    client = redis.Redis.from_url(url)
    keys = [key for key in client.scan_iter() if not key.startswith(b"risingpy:")]
    found = {key.decode(): json.loads(client.get(key) or b"null") for key in keys}
    client.close()
    return found


@pytest.fixture
def redis(redis_url: str) -> str:
    """The URL of an empty Redis."""
    library = pytest.importorskip("redis", reason="redis is not installed: make test-connectors installs it")
    client = library.Redis.from_url(redis_url)
    client.flushall()
    client.close()
    return redis_url


def test_redis_sets_and_deletes(redis: str) -> None:
    schema = schema_of(SinkType.UPSERT)
    target = target_of({"connector": "redis", "redis.url": redis}, schema)
    target.check()
    assert target.open() is None
    target.deliver(1, [changes_of(schema, [(1, ["1", "a"]), (1, ["2", "b"])])])
    change = [changes_of(schema, [(-1, ["1", "a"]), (-1, ["2", "b"]), (1, ["1", "A"])])]
    target.deliver(2, change)
    target.deliver(1, [changes_of(schema, [(1, ["7", "again"])])])
    target.close()
    assert keys_of(redis) == {'{"id":1}': {"id": 1, "name": "A"}}
    assert target_of({"connector": "redis", "redis.url": redis}, schema).open() == 2


def test_redis_with_templates(redis: str) -> None:
    schema = schema_of(SinkType.UPSERT)
    template = (("key_format", "user:{id}"), ("value_format", '"{name}"'))
    format_ = MessageFormat("upsert", "template", template)
    target_of({"connector": "redis", "redis.url": redis}, schema, format_).deliver(1, three_rows(schema, 4)[:1])
    assert keys_of(redis) == {"user:4": "row 2"}


def changes_of_redis(schema: SinkSchema, epoch: int) -> list[Any]:
    rows: list[tuple[int, Row]] = [(1, [str(epoch), "new"])]
    if epoch > 1:
        rows += [(-1, [str(epoch - 1), "new"])]
    return [changes_of(schema, rows)]


def test_redis_kills_between_all_steps(redis: str) -> None:
    schema = schema_of(SinkType.UPSERT)

    def check(epoch: int) -> None:
        assert keys_of(redis) == {f'{{"id":{epoch}}}': {"id": epoch, "name": "new"}}

    make = partial(target_of, {"connector": "redis", "redis.url": redis}, schema)
    assert kill_everywhere(make, partial(changes_of_redis, schema), check) > 5


def test_redis_errors(redis: str) -> None:
    schema = schema_of(SinkType.UPSERT)
    with pytest.raises(SqlError) as raised:
        target_of({"connector": "redis", "redis.url": redis.replace("hunter2", "wrongpass")}, schema).check()
    assert raised.value.sqlstate == "28000"
    assert "wrongpass" not in raised.value.message
    with pytest.raises(InvalidParameterValue, match=r"redis\.url"):
        target_of({"connector": "redis", "redis.url": "[]"}, schema)
    with pytest.raises(FeatureNotSupported, match="primary key"):
        target_of({"connector": "redis", "redis.url": redis}, schema_of(SinkType.APPEND_ONLY, ()))


# NATS


@pytest.fixture
def subject(nats_url: str) -> str:
    """A subject of a new stream."""
    pytest.importorskip("nats", reason="nats-py is not installed: make test-connectors installs it")
    name = "t" + uuid.uuid4().hex[:8]
    asyncio.run(_nats(nats_url, lambda stream: stream.add_stream(name=name, subjects=[f"{name}.>"])))
    return f"{name}.rows"


async def _nats(url: str, work: Any) -> Any:
    import nats

    connection = await nats.connect(url)
    try:
        return await work(connection.jetstream())
    finally:
        await connection.close()


def nats_messages(url: str, subject: str) -> list[Any]:
    async def read(stream: Any) -> list[Any]:
        name = subject.split(".")[0]
        last = (await stream.stream_info(name)).state.last_seq
        return [json.loads((await stream.get_msg(name, seq)).data) for seq in range(1, last + 1)]

    found: list[Any] = asyncio.run(_nats(url, read))
    return found


def test_nats_kills_between_all_steps(nats_url: str, subject: str) -> None:
    schema = schema_of(SinkType.APPEND_ONLY)

    def check(epoch: int) -> None:
        found = [(row["id"], row["name"]) for row in nats_messages(nats_url, subject)]
        assert sorted(found) == [(past, f"row {n}") for past in range(1, epoch + 1) for n in range(3)]

    make = partial(target_of, {"connector": "nats", "server_url": nats_url, "subject": subject}, schema)
    make().check()
    assert kill_everywhere(make, partial(three_rows, schema), check, step=3, pause=0.02) >= 4


def test_nats_errors(nats_url: str, subject: str) -> None:
    schema = schema_of(SinkType.APPEND_ONLY)
    nowhere = target_of({"connector": "nats", "server_url": nats_url, "subject": "nowhere"}, schema)
    for attempt in (nowhere.check, lambda: nowhere.deliver(1, three_rows(schema, 1))):
        with pytest.raises(UndefinedTable, match='"nowhere"'):
            attempt()


# MQTT


def test_mqtt_kills_between_all_steps(mqtt_url: str) -> None:
    """Each row arrives at least once; rows that come again have the same id."""
    library = pytest.importorskip(
        "paho.mqtt.client", reason="paho-mqtt is not installed: make test-connectors installs it"
    )
    schema = schema_of(SinkType.APPEND_ONLY)
    host, port = mqtt_url.removeprefix("tcp://").split(":")
    received: dict[str, Any] = {}
    subscribed = threading.Event()

    def on_message(client: Any, userdata: object, message: Any) -> None:
        [(name, key)] = message.properties.UserProperty
        assert name == "risingpy-id"
        assert received.setdefault(key, json.loads(message.payload)) == json.loads(message.payload)

    reader = library.Client(library.CallbackAPIVersion.VERSION2, protocol=library.MQTTv5)
    reader.on_message = on_message
    reader.on_subscribe = lambda *_: subscribed.set()
    reader.connect(host, int(port))
    reader.subscribe(schema.name, qos=1)
    reader.loop_start()
    assert subscribed.wait(10)

    def check(epoch: int) -> None:
        deadline = time.monotonic() + 10
        while len(received) < epoch * 3 and time.monotonic() < deadline:
            time.sleep(0.01)
        rows = sorted((row["id"], row["name"]) for row in received.values())
        assert rows == [(past, f"row {n}") for past in range(1, epoch + 1) for n in range(3)]

    make = partial(target_of, {"connector": "mqtt", "url": mqtt_url, "topic": schema.name}, schema)
    make().check()
    assert kill_everywhere(make, partial(three_rows, schema), check, step=2, pause=0.02) > 10
    reader.disconnect()
    reader.loop_stop()


@pytest.mark.parametrize(("qos", "number"), [("at_least_once", 1), ("2", 2), ("exactly_once", 2)])
def test_mqtt_takes_the_names_of_its_qos(qos: str, number: int) -> None:
    pytest.importorskip("paho.mqtt.client", reason="paho-mqtt is not installed: make test-connectors installs it")
    options = {"connector": "mqtt", "url": "tcp://127.0.0.1:1", "topic": "x", "qos": qos}
    target: Any = target_of(options, schema_of(SinkType.APPEND_ONLY))
    assert target._qos == number
    with pytest.raises(InvalidParameterValue, match="qos cannot be at_most_once"):
        target_of({**options, "qos": "at_most_once"}, schema_of(SinkType.APPEND_ONLY))


# HTTP


class Service:
    """An HTTP server that keeps requests by their Idempotency-Key, and answers as it is told to."""

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}
        self.headers: dict[str, str] = {}
        self.answer = 200
        service = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if service.answer == 200:
                    key = self.headers["Idempotency-Key"]
                    assert service.kept.setdefault(key, body) == body
                    service.headers = dict(self.headers)
                self.send_response(service.answer)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None: ...

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/rows?to=t"


@pytest.fixture
def service() -> Iterator[Service]:
    made = Service()
    thread = threading.Thread(target=made.server.serve_forever)
    thread.start()
    yield made
    made.server.shutdown()
    thread.join()
    made.server.server_close()


def test_http_kills_between_all_steps(service: Service) -> None:
    schema = schema_of(SinkType.APPEND_ONLY)

    def check(epoch: int) -> None:
        rows = [(row["id"], row["name"]) for row in map(json.loads, service.kept.values())]
        assert sorted(rows) == [(past, f"row {n}") for past in range(1, epoch + 1) for n in range(3)]

    make = partial(target_of, {"connector": "http", "url": service.url}, schema)
    make().check()
    assert kill_everywhere(make, partial(three_rows, schema), check, step=3) > 5


def test_http_batches_and_headers(service: Service) -> None:
    schema = schema_of(SinkType.APPEND_ONLY)
    options = {"connector": "http", "url": service.url, "batch.rows": "2", "headers.Authorization": "Bearer x"}
    target_of(options, schema).deliver(9, three_rows(schema, 1))
    bodies = {key: [json.loads(line)["name"] for line in body.splitlines()] for key, body in service.kept.items()}
    assert bodies == {f"{schema.name}:9:0": ["row 0", "row 1"], f"{schema.name}:9:1": ["row 2"]}
    assert service.headers["Authorization"] == "Bearer x"
    assert service.headers["Content-Type"] == "application/x-ndjson"


@pytest.mark.parametrize(
    ("answer", "later"), [(500, True), (503, True), (429, True), (400, False), (404, False), (302, False)]
)
def test_http_answers(service: Service, answer: int, later: bool) -> None:
    schema = schema_of(SinkType.APPEND_ONLY)
    target = target_of({"connector": "http", "url": service.url}, schema)
    service.answer = answer
    with pytest.raises(SqlError, match=str(answer)) as raised:
        target.deliver(1, three_rows(schema, 1))
    assert isinstance(raised.value, TargetUnavailable) == later
    service.answer = 200
    target.deliver(1, three_rows(schema, 1))
    target.close()
    assert len(service.kept) == 3


# All


NOBODY = {
    "redis": {"redis.url": "redis://:hunter2@127.0.0.1:1/0"},
    "nats": {"server_url": "nats://127.0.0.1:1", "subject": "x", "username": "me", "password": "hunter2"},
    "mqtt": {"url": "tcp://127.0.0.1:1", "topic": "x", "username": "me", "password": "hunter2"},
    "http": {"url": "http://127.0.0.1:1/?token=hunter2"},
}


def made(connector: str, **more: str) -> SinkTarget:
    pytest.importorskip(
        {"mqtt": "paho", "http": "http"}.get(connector, connector), reason="make test-connectors installs it"
    )
    return target_of({"connector": connector, **NOBODY[connector], **more}, schema_of(SinkType.APPEND_ONLY))


@pytest.mark.parametrize("connector", NOBODY)
def test_what_does_not_answer_is_unavailable_and_no_password_is_told(connector: str) -> None:
    target = made(connector)
    started = time.monotonic()
    with pytest.raises(TargetUnavailable) as raised:
        target.check()
    assert time.monotonic() - started < 5
    assert raised.value.sqlstate == "HV00N"
    assert "hunter2" not in raised.value.message


@pytest.mark.parametrize("connector", NOBODY)
def test_unknown_options_are_named(connector: str) -> None:
    with pytest.raises(InvalidParameterValue, match=f'unknown option "colour" of the {connector} sink'):
        made(connector, colour="red")


@pytest.mark.parametrize("connector", ["nats", "mqtt", "http"])
def test_deletes_are_refused(connector: str) -> None:
    pytest.importorskip(f"risingpy.connectors.targets.{connector}", reason="make test-connectors installs it")
    with pytest.raises(FeatureNotSupported, match="cannot be of type upsert"):
        target_of({"connector": connector, **NOBODY[connector]}, schema_of(SinkType.UPSERT))
