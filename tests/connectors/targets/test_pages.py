"""The examples of the sinks' pages, run as they are written, but for addresses, with real systems on the other side."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.connectors.kafka.topics import Topic
from tests.connectors.systems.kafka import KafkaBroker
from tests.connectors.systems.s3 import S3Server
from tests.meta.conftest import Server
from tests.postgres_oracle import PostgresOracle

PAGES = Path(__file__).parents[3] / "docs" / "connectors"
SINK_PAGES = {page.name for page in PAGES.glob("*.md") if "CREATE SINK" in page.read_text()}
ORDERS = [(1, "ann", "10.00"), (2, "bob", "2.50")]


def examples(page: str) -> list[str]:
    return re.findall(r"^```SQL\n(.*?)^```$", (PAGES / page).read_text(), re.DOTALL | re.MULTILINE)


def example(page: str, mention: str, meant: dict[str, str] | None = None) -> str:
    """The page's example that has this text, with these texts replaced, each of which it has."""
    (found,) = [each for each in examples(page) if mention in each]
    for written, text in (meant or {}).items():
        assert written in found
        found = found.replace(written, text)
    return found


def test_every_example_of_a_sink_is_complete_and_run() -> None:
    """No page shows a sink in a block that nothing runs. `sql` blocks are run by tests/docs, `SQL` blocks here.

    The pages of CDC, secrets and the rest have their tests elsewhere.
    """
    for page in SINK_PAGES:
        for language, block in re.findall(
            r"^```(\w*)\n(.*?)^```$", (PAGES / page).read_text(), re.DOTALL | re.MULTILINE
        ):
            assert language in ("sql", "SQL") or "CREATE SINK" not in block, page
    tested = Path(__file__).read_text() + Path(__file__).with_name("test_kafka_to_kafka.py").read_text()
    assert [page for page in SINK_PAGES if examples(page) and f'"{page}"' not in tested] == []


def test_kafka(server: Server, kafka_broker: KafkaBroker) -> None:
    topic = Topic(kafka_broker)
    server.client().run(
        example(
            "kafka-sink.md",
            "kafka",
            {"127.0.0.1:9092": kafka_broker.address, "topic = 'orders'": f"topic = '{topic.name}'"},
        )
    )
    last = dict(topic.read_all())
    assert {key: json.loads(value) for key, value in last.items() if value is not None} == {
        b'{"id":2}': {"id": 2, "customer": "bob", "amount": "3.00"}
    }


def test_postgres(server: Server, postgres_oracle: PostgresOracle) -> None:
    with postgres_oracle.connect() as connection:
        connection.execute("DROP SCHEMA IF EXISTS page CASCADE; CREATE SCHEMA page")
        made = re.search(r"`(CREATE TABLE [^`]+)`", (PAGES / "postgres-sink.md").read_text())
        assert made is not None
        connection.execute(made[1].replace("public.", "page.").encode())
        meant = {"'127.0.0.1'": f"'{postgres_oracle.directory}'", "5432": str(postgres_oracle.port),
                 "'writer'": "'postgres'", "'shop'": "'postgres'", "'public'": "'page'"}  # fmt: skip
        server.client().run(example("postgres-sink.md", "postgres", meant))
        rows = connection.execute("SELECT id, customer, amount::text FROM page.orders").fetchall()
    assert rows == [(2, "bob", "3.00")]


def test_files(server: Server, tmp_path: Path) -> None:
    server.client().run(example("file-sinks.md", "'fs'", {"/data/orders": str(tmp_path / "out")}))
    rows = [row for file in (tmp_path / "out").glob("*.parquet") for row in pq.read_table(file).to_pylist()]
    assert sorted((row["id"], row["customer"], str(row["amount"])) for row in rows) == ORDERS


def test_objects(server: Server, s3_server: S3Server) -> None:
    boto3 = pytest.importorskip("boto3", reason="boto3 is not installed: make test-connectors installs it")
    client: Any = boto3.client("s3", region_name="us-east-1", endpoint_url=s3_server.url, aws_access_key_id="a",
                               aws_secret_access_key="b")  # fmt: skip
    client.create_bucket(Bucket="pages")
    meant = {"http://127.0.0.1:9000": s3_server.url, "'lake'": "'pages'", "eu-west-1": "us-east-1"}
    server.client().run(example("file-sinks.md", "'s3'", meant))
    keys = [found["Key"] for found in client.list_objects_v2(Bucket="pages")["Contents"]]
    bodies = [client.get_object(Bucket="pages", Key=key)["Body"].read().decode() for key in keys]
    rows = [json.loads(line) for body in bodies for line in body.splitlines()]
    assert sorted((row["id"], row["customer"], row["amount"]) for row in rows) == ORDERS


def test_iceberg(server: Server, tmp_path: Path) -> None:
    for library in ("pyiceberg", "sqlalchemy"):
        pytest.importorskip(library, reason=f"{library} is not installed: make test-connectors installs it")
    from pyiceberg.catalog import load_catalog

    meant = {"sqlite:////data": f"sqlite:///{tmp_path}", "file:///data": f"file://{tmp_path}"}
    server.client().run(example("lake-sinks.md", "'iceberg'", meant))
    catalog = load_catalog(
        "risingpy", type="sql", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=f"file://{tmp_path}"
    )
    assert catalog.load_table("shop.orders").scan().to_arrow()["customer"].to_pylist() == ["bob"]


def test_delta(server: Server, tmp_path: Path) -> None:
    deltalake = pytest.importorskip("deltalake", reason="deltalake is not installed: make test-connectors installs it")
    server.client().run(example("lake-sinks.md", "'deltalake'", {"/data/orders": str(tmp_path / "orders")}))
    assert deltalake.DeltaTable(str(tmp_path / "orders")).to_pyarrow_table()["customer"].to_pylist() == ["bob"]


def test_redis(server: Server, redis_url: str) -> None:
    library = pytest.importorskip("redis", reason="redis is not installed: make test-connectors installs it")
    server.client().run(example("other-sinks.md", "'redis'", {"redis://:hunter2@127.0.0.1:6379/0": redis_url}))
    client = library.Redis.from_url(redis_url)
    assert (client.get("user:1"), client.get("user:2")) == (None, b"bob")
    client.close()


def test_nats(server: Server, nats_url: str) -> None:
    nats = pytest.importorskip("nats", reason="nats-py is not installed: make test-connectors installs it")

    async def with_stream(read: bool) -> list[Any]:
        connection = await nats.connect(nats_url)
        try:
            stream = connection.jetstream()
            if not read:
                await stream.add_stream(name="pages", subjects=["rows.>"])
                return []
            return [json.loads((await stream.get_msg("pages", number)).data) for number in (1, 2)]
        finally:
            await connection.close()

    asyncio.run(with_stream(read=False))
    server.client().run(example("other-sinks.md", "'nats'", {"nats://127.0.0.1:4222": nats_url}))
    assert sorted(row["page"] for row in asyncio.run(with_stream(read=True))) == ["/a", "/b"]


def test_mqtt(server: Server, mqtt_url: str) -> None:
    library = pytest.importorskip(
        "paho.mqtt.client", reason="paho-mqtt is not installed: make test-connectors installs it"
    )
    host, port = mqtt_url.removeprefix("tcp://").split(":")
    received: list[Any] = []
    subscribed, complete = threading.Event(), threading.Event()

    def on_message(client: Any, userdata: object, message: Any) -> None:
        received.append(json.loads(message.payload))
        if len(received) == 2:
            complete.set()

    reader = library.Client(library.CallbackAPIVersion.VERSION2, protocol=library.MQTTv5)
    reader.on_message = on_message
    reader.on_subscribe = lambda *_: subscribed.set()
    reader.connect(host, int(port))
    reader.subscribe("rows/seen", qos=1)
    reader.loop_start()
    assert subscribed.wait(10)
    server.client().run(example("other-sinks.md", "'mqtt'", {"tcp://127.0.0.1:1883": mqtt_url}))
    assert complete.wait(10)
    reader.disconnect()
    reader.loop_stop()
    assert sorted(row["page"] for row in received) == ["/a", "/b"]


def test_http(server: Server) -> None:
    bodies: list[bytes] = []
    tokens: list[str | None] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            tokens.append(self.headers["Authorization"])
            bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    service = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=service.serve_forever)
    thread.start()
    try:
        address = f"127.0.0.1:{service.server_port}"
        server.client().run(example("other-sinks.md", "'http'", {"127.0.0.1:8080": address}))
    finally:
        service.shutdown()
        thread.join()
        service.server_close()
    assert sorted(row for body in bodies for row in body.splitlines() if row) == [
        b'{"id":1,"page":"/a"}',
        b'{"id":2,"page":"/b"}',
    ]
    assert set(tokens) == {"Bearer hunter2"}
