"""A broker, and databases that subscribe to it."""

from tests.connectors.systems.brokers import mqtt_url
from tests.meta.conftest import server

__all__ = ["mqtt_url", "server"]
