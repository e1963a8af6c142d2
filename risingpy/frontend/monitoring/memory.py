"""Metrics of memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

from prometheus_client.metrics_core import Metric

from risingpy.frontend.monitoring.samples import gauge, one
from risingpy.memory import server_memory
from risingpy.meta.database import Database


def memory_metrics(database: Database) -> Iterator[Metric]:
    """Of the server and of the processes that it has started."""
    parts = [((part,), size) for part, size in asdict(database.introspection.memory()).items()]
    text = "Memory by part. duckdb is a part of server; mapped is mostly LMDB's pages; spilled is on disk."
    yield gauge("memory_bytes", text, parts, ["part"])
    yield gauge("memory_limit_bytes", "What --memory allows.", one(server_memory()))
