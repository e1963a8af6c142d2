"""The limits of clients: connections, message sizes and times."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Times are in seconds."""

    max_connections: int = 1000  # a thread each, while their statements run
    startup_timeout: float = 60.0  # PostgreSQL's authentication_timeout
    max_message_bytes: int = 256 << 20  # queries, parameters, COPY data; PostgreSQL stops at 1 GB
    idle_worker: float = 10.0  # how long a thread without work is kept; to start another one takes some 100 µs
    shutdown_grace: float = 5.0  # how long `stop` waits for connections to end


@dataclass(frozen=True, slots=True)
class LoggedConnections:
    """What the log says of clients that come and go."""

    connections: bool = False
    disconnections: bool = False


MAX_PASSWORD_BYTES = 1024
"""PostgreSQL's PG_MAX_SASL_MESSAGE_LENGTH."""

MAX_STARTUP_BYTES = 10_000
"""PostgreSQL's MAX_STARTUP_PACKET_LENGTH."""

MAX_CONTROL_BYTES = 30_000
"""Messages that carry a name at most (PQ_SMALL_MESSAGE_LIMIT is 10,000; names may be long)."""
