"""A real Kafka broker for tests: noida-db (one binary from PyPI) speaks Kafka's protocol, transactions included.

It ignores fetch sizes, drops records whose own timestamp is older than seven days, and loses its last seconds at a
kill -9 of itself. So tests kill us, and never it.
"""

from __future__ import annotations

import importlib.util
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.connectors.systems.process import free_port, running


@dataclass(frozen=True)
class KafkaBroker:
    """Where the broker listens: `127.0.0.1:9092`, for `bootstrap.servers`."""

    address: str


def missing_reason() -> str | None:
    """Why no broker can be started here; None if it can."""
    if importlib.util.find_spec("confluent_kafka") is None:
        return "confluent-kafka is not installed: make test-connectors installs it"
    if importlib.util.find_spec("noida_db") is None:
        return "noida-db is not installed: make test-connectors installs it"
    return None


@contextmanager
def broker() -> Iterator[KafkaBroker]:
    """Starts a broker and stops it afterwards."""
    directory = Path(tempfile.mkdtemp(prefix="risingpy-kafka-"))
    port = free_port()
    binary = importlib.util.find_spec("noida_db")
    assert binary is not None and binary.origin is not None
    program = Path(binary.origin).parent / "noida-db"
    options = ["--data-dir", str(directory / "data"), "--host", "127.0.0.1", "--only", "kafka"]
    try:
        with running([str(program), "start", *options, "--kafka-port", str(port)], port, directory / "log"):
            yield KafkaBroker(f"127.0.0.1:{port}")
    finally:
        shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture(scope="session")
def kafka_broker() -> Iterator[KafkaBroker]:
    """The broker of this test run."""
    reason = missing_reason()
    if reason is not None:
        pytest.skip(reason)
    with broker() as started:
        yield started
