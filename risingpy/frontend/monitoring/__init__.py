"""Monitoring over HTTP: /metrics for Prometheus, /healthz and /readyz for whoever starts and stops the server.

    server.py     the port, from the first moment of the process on
    readiness.py  whether clients can be sent here, and if not, why
    metrics.py    what Prometheus gets, made of the database's own figures when it asks
    epochs.py     … of epochs, the log, and the state store
    relations.py  … of tables, views, sources and sinks
    clients.py    … of sessions and statements
    memory.py     … of the process, its children and DuckDB
    samples.py    the forms of metrics

In: GET requests. Out: text. Nothing here is computed before somebody asks.
"""

from risingpy.frontend.monitoring.server import MonitoringServer

__all__ = ["MonitoringServer"]
