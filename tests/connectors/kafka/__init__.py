"""The Kafka source, against a real broker."""
