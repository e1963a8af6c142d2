"""The NATS source, against a real server with JetStream."""
