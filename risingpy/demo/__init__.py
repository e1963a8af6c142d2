"""`risingpy demo`: flights of New York in 2013 with live views, and events that go through Kafka and back.

In: a server's address, or none for a server of its own. Out: a report on the terminal, and whether every view was
right, which DuckDB judges. Called by `cli.py`.
"""

from risingpy.demo.flights import run_demo, run_demo_on_own_server
from risingpy.demo.kafka_broker import missing_packages
from risingpy.demo.pipeline import run_pipeline

__all__ = ["missing_packages", "run_demo", "run_demo_on_own_server", "run_pipeline"]
