"""A NATS server, and databases that read it."""

from __future__ import annotations

from tests.connectors.systems.brokers import nats_url
from tests.meta.conftest import server

__all__ = ["nats_url", "server"]
