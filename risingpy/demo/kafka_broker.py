"""A real Kafka broker on this machine: noida-db (one binary from PyPI) speaks Kafka's protocol, transactions included.

It answers a fetch with all that it has of a partition after the offset, drops records whose own timestamp is older
than seven days, and loses its last seconds at a kill -9 of itself. So tests kill us, and never it.
"""

from __future__ import annotations

import importlib.util
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from risingpy.demo.local_program import free_port, running

_NEEDED = {"confluent_kafka": "confluent-kafka", "noida_db": "noida-db"}


@dataclass(frozen=True, slots=True)
class KafkaBroker:
    """Where the broker listens: `127.0.0.1:9092`, for `bootstrap.servers`."""

    address: str


def missing_packages() -> list[str]:
    """The packages of PyPI that a broker and its clients need, and that are not installed here."""
    return [package for module, package in _NEEDED.items() if importlib.util.find_spec(module) is None]


@contextmanager
def local_broker() -> Iterator[KafkaBroker]:
    """Starts a broker with its data in a temporary directory; stops it and deletes them afterwards.

    Nothing may be missing. Raises RuntimeError if the broker does not start.
    """
    binary = importlib.util.find_spec("noida_db")
    assert binary is not None and binary.origin is not None
    program = Path(binary.origin).parent / "noida-db"
    directory = Path(tempfile.mkdtemp(prefix="risingpy-kafka-"))
    port = free_port()
    options = ["--data-dir", str(directory / "data"), "--host", "127.0.0.1", "--only", "kafka"]
    try:
        with running([str(program), "start", *options, "--kafka-port", str(port)], port, directory / "log"):
            yield KafkaBroker(f"127.0.0.1:{port}")
    finally:
        shutil.rmtree(directory, ignore_errors=True)
