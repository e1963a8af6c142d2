"""The broker of the test run, and databases that read it."""

from __future__ import annotations

from tests.connectors.systems.kafka import kafka_broker
from tests.meta.conftest import server

__all__ = ["kafka_broker", "server"]
