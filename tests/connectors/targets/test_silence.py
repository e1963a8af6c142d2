"""A server that takes connections and says nothing: CREATE SINK must not wait for it."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator

import pytest

from risingpy.connectors.targets.choice import TARGETS, target_of
from risingpy.connectors.targets.target import SinkSchema, SinkType
from risingpy.errors import TargetUnavailable
from risingpy.types import BIGINT

SCHEMA = SinkSchema("s", (("id", BIGINT),), (0,), SinkType.APPEND_ONLY)
_S3 = {"s3.access.key": "me", "s3.secret.key": "hunter2", "s3.region": "us-east-1"}


@pytest.fixture
def silent_port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        yield port


def options_of(connector: str, port: int) -> dict[str, str]:
    host = f"127.0.0.1:{port}"
    options = {
        "deltalake": {"location": "s3://b/t", "s3.endpoint": f"http://{host}", **_S3},
        "iceberg": {"catalog.uri": f"http://{host}", "warehouse.path": "w", "database.name": "d", "table.name": "t"},
        "kafka": {"properties.bootstrap.server": host, "topic": "t"},
        "mqtt": {"url": f"tcp://{host}", "topic": "t"},
        "nats": {"server_url": f"nats://{host}", "subject": "t"},
        "postgres": {"host": "127.0.0.1", "port": str(port), "user": "u", "database": "d", "table": "t"},
        "redis": {"redis.url": f"redis://{host}/0"},
        "s3": {"s3.region_name": "r", "s3.bucket_name": "bucket", "s3.endpoint_url": f"http://{host}"},
    }
    credentials = {"s3.credentials.access": "me", "s3.credentials.secret": "hunter2"} if connector == "s3" else {}
    return {"connector": connector, **options[connector], **credentials}


# The check of http connects and sends nothing, fs and blackhole have no other side, and jdbc is postgres.
@pytest.mark.parametrize("connector", sorted(set(TARGETS) - {"blackhole", "http", "fs", "jdbc"}))
def test_a_silent_server_is_unavailable_within_five_seconds(connector: str, silent_port: int) -> None:
    pytest.importorskip(
        f"risingpy.connectors.targets.{TARGETS[connector].module}", reason="make test-connectors installs it"
    )
    target = target_of(options_of(connector, silent_port), SCHEMA)
    started = time.monotonic()
    with pytest.raises(TargetUnavailable) as raised:
        target.check()
    assert time.monotonic() - started < 5.5
    assert "hunter2" not in raised.value.message
