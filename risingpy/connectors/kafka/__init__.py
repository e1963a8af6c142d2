"""Kafka: `options` reads a source's options, `source` is its connector. It needs confluent-kafka (risingpy[kafka])."""
