"""Real systems that sinks deliver to, and databases that have sinks."""

from tests.connectors.systems.brokers import mqtt_url, nats_url, redis_url
from tests.connectors.systems.kafka import kafka_broker
from tests.connectors.systems.s3 import s3_server
from tests.meta.conftest import server
from tests.postgres_oracle import postgres_oracle

__all__ = ["kafka_broker", "mqtt_url", "nats_url", "postgres_oracle", "redis_url", "s3_server", "server"]
