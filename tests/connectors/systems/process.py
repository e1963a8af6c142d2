"""How the programs of a test run are started: as the demo's Kafka broker is."""

from risingpy.demo.local_program import free_port, running

__all__ = ["free_port", "running"]
