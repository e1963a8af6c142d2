"""A real Kafka broker for tests: the demo's, one for a test run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from risingpy.demo.kafka_broker import KafkaBroker, missing_packages
from risingpy.demo.kafka_broker import local_broker as broker

__all__ = ["KafkaBroker", "broker", "kafka_broker", "missing_reason"]


def missing_reason() -> str | None:
    """Why no broker can be started here; None if it can."""
    missing = missing_packages()
    return f"{missing[0]} is not installed: make test-connectors installs it" if missing else None


@pytest.fixture(scope="session")
def kafka_broker() -> Iterator[KafkaBroker]:
    """The broker of this test run."""
    reason = missing_reason()
    if reason is not None:
        pytest.skip(reason)
    with broker() as started:
        yield started
