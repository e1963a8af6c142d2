"""The server: opens the data directory, answers the wire, starts Spark meanwhile, and stops cleanly."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType

from risingpy.config import ConfigError, ServeConfig
from risingpy.connectors import file_roots
from risingpy.door_settings import Refused, door_of, reloaded, tls_of
from risingpy.epoch_engine import make_runner
from risingpy.errors import SqlError
from risingpy.frontend.authentication.http_door import HttpDoor
from risingpy.frontend.monitoring import MonitoringServer
from risingpy.frontend.results import StartupParameters
from risingpy.frontend.session import ClientSession, open_session
from risingpy.frontend.webhook import WebhookServer
from risingpy.frontend.wire.limits import Limits, LoggedConnections
from risingpy.frontend.wire.server import WireServer
from risingpy.functions.python.standing_walls import tell_of_walls
from risingpy.garbage import GarbageCollector
from risingpy.logs import start_logging
from risingpy.memory import ENVIRONMENT_NAME
from risingpy.memory_guard import MemoryGuard
from risingpy.meta.adaptive_parallelism import AdaptiveParallelism
from risingpy.meta.database import Database
from risingpy.meta.epochs.runner import EpochRunner
from risingpy.storage import kernels
from risingpy.storage.engine.meta_store import DataDirectoryInUse

LOG = logging.getLogger("risingpy")

# How long a busy engine thread may hold the interpreter before a client's thread gets its turn. Python's default of
# 5 ms cost a point query 12 ms at the 99th percentile.
SWITCH_INTERVAL_SECONDS = 0.0005


def serve(config: ServeConfig, *, started: float, again: Callable[[], ServeConfig] | None = None) -> int:
    """Runs the server until SIGTERM or Ctrl-C; returns the process's exit code.

    `again` reads the settings again, for SIGHUP: the rules and the TLS files may be new ones.
    `started` is the `time.monotonic` of the process's begin: the imports are most of the time to start.
    """
    try:
        start_logging(config.log_level, config.log_format, config.log_file)
    except OSError as error:
        return _refuse(f"cannot write the log to {config.log_file}: {error.strerror}")
    sys.setswitchinterval(SWITCH_INTERVAL_SECONDS)
    stop, hangup = _stop_on_signals()
    os.environ[ENVIRONMENT_NAME] = str(config.memory)  # Spark's workers read it too
    try:
        monitoring = None if config.http_port is None else MonitoringServer(config.http_host, config.http_port)
    except OSError as error:
        return _refuse(error.strerror or str(error))
    try:
        return _serve_database(config, monitoring, stop, started, _Reload(hangup, again))
    finally:
        if monitoring is not None:
            monitoring.stop()


def _serve_database(
    config: ServeConfig,
    monitoring: MonitoringServer | None,
    stop: threading.Event,
    started: float,
    reload: _Reload,
) -> int:
    """Recovers the database, and serves it until `stop`; returns the exit code."""
    os.environ[file_roots.ENVIRONMENT_NAME] = config.file_roots  # tasks of Spark's processes open files, too
    try:
        database, runner = _opened_database(config)
    except DataDirectoryInUse as error:
        return _refuse(str(error))
    except SqlError as error:
        return _refuse(error.told)
    except OSError as error:
        return _refuse(f"cannot use {config.data_dir.absolute()}: {error}")
    try:
        listeners = _started_listeners(config, database, monitoring)
    except (Refused, OSError) as error:
        database.close()
        return _refuse(getattr(error, "strerror", None) or str(error))
    if config.state is not None:
        _say(f"State in {config.state}, {database.data_dir} is a cache of it.")
    _say(f"Data in {database.data_dir}, {database.shards} shards.")
    if config.follow is not None:
        _say(f"Follows {config.follow}, {database.data_dir} is a cache of it. Reads only.")
    warm = runner is None or runner.is_warm
    behind = "" if warm else "; Spark is starting behind it"
    _say(f"Ready for connections after {time.monotonic() - started:.1f} s{behind}.")
    for line in listeners.described():
        _say(f"  {line}")
    MemoryGuard(with_descendants=True).start()
    GarbageCollector().start()
    if runner is not None:
        runner.start()
        AdaptiveParallelism(database, lambda: runner.cores).start(stop)
    threading.Thread(target=tell_of_walls, name="walls", daemon=True).start()
    threading.Thread(target=kernels.load, name="kernels", daemon=True).start()  # the first connections need not wait
    while database.lost is None and not stop.wait(1.0):
        reload.look(listeners)
        if runner is not None and warm != runner.is_warm:
            warm = not warm
            _say(f"Spark {'has taken over' if warm else 'is lost'} after {time.monotonic() - started:.1f} s.")
    lost = database.lost
    _say("Stopping.")
    listeners.stop()
    database.close()
    _say("Stopped.")
    return 0 if lost is None else _refuse(lost.told)


def _opened_database(config: ServeConfig) -> tuple[Database, EpochRunner | None]:
    """The database, started, and what runs its epochs: nothing, where another server leads."""
    database = Database(
        config.data_dir.absolute(),
        parallelism=config.parallelism,
        key_file=config.secret_key_file,
        state_uri=config.state,
        followed_uri=config.follow,
        most_queries=config.max_concurrent_queries,
    )
    if config.follow is not None:
        database.start_following()
        return database, None
    runner = make_runner(config.engine, config.master, database)
    database.start(runner)
    return database, runner


class _Listeners:
    """The ports on which clients and, if the configuration says so, webhooks are served.

    Monitoring is told when that begins and ends. The constructor raises Refused if the settings would let anybody in.
    """

    def __init__(self, config: ServeConfig, database: Database, monitoring: MonitoringServer | None) -> None:
        self._host = config.host
        self._database = database
        self._monitoring = monitoring
        self._monitored_at = config.http_host
        defaults = {
            "log_min_duration_statement": str(config.log_min_duration_statement),
            "log_statement": config.log_statement,
            "max_concurrent_queries": str(config.max_concurrent_queries),
            "max_connections": str(config.max_connections),
        }
        self._defaults = defaults
        self._door = door_of(config, database)

        def open_client(startup: StartupParameters) -> ClientSession:
            return open_session(database, startup, defaults)

        self._wire = WireServer(
            config.host,
            config.port,
            open_client,
            limits=Limits(max_connections=config.max_connections, startup_timeout=config.authentication_timeout),
            door=self._door,
            tls=tls_of(config),
            socket_directory=config.unix_socket_directory,
            logged=LoggedConnections(config.log_connections, config.log_disconnections),
        )
        self._webhooks: WebhookServer | None = None
        if config.webhook_port is not None:
            self._webhooks = WebhookServer(
                config.host, config.webhook_port, database, door=HttpDoor(self._door), tls=lambda: self._wire.tls
            )

    def start(self) -> None:
        """Raises OSError if a port is taken; `stop` is due then too."""
        if self._webhooks is not None:
            self._webhooks.start()
        self._wire.start()
        if self._monitoring is not None:
            self._monitoring.serves(self._database, HttpDoor(self._door), lambda: self._wire.tls, self._defaults)

    def reload(self, config: ServeConfig) -> None:
        """Takes the rules and the TLS files of new settings. Raises Refused, and changes nothing then."""
        self._wire.tls = reloaded(config, self._door)

    def described(self) -> Iterator[str]:
        """How to reach them, for people."""
        if self._monitoring is not None:
            address = f"{self._monitored_at}:{self._monitoring.port}"
            yield f"console: http://{address}/console/"
            yield f"metrics: http://{address}/metrics"
        yield f"psql -h {self._host} -p {self._wire.port} -d dev -U root"
        if self._webhooks is not None:
            yield f"webhooks: POST http://{self._host}:{self._webhooks.port}/webhook/dev/SCHEMA/TABLE"

    def stop(self) -> None:
        """Accepts no more; also after a `start` that failed."""
        if self._monitoring is not None:
            self._monitoring.announce_stop()
        if self._webhooks is not None:
            self._webhooks.stop()
        self._wire.stop()


def _started_listeners(config: ServeConfig, database: Database, monitoring: MonitoringServer | None) -> _Listeners:
    """Raises Refused or OSError, and then nothing listens."""
    listeners = _Listeners(config, database, monitoring)
    try:
        listeners.start()
    except OSError:
        listeners.stop()
        raise
    return listeners


class _Reload:
    """What SIGHUP asks for, in the server's own thread."""

    def __init__(self, hangup: threading.Event, again: Callable[[], ServeConfig] | None) -> None:
        self._hangup = hangup
        self._again = again

    def look(self, listeners: _Listeners) -> None:
        """Reads the settings again, if that was asked for. Wrong ones are logged, and change nothing."""
        if not self._hangup.is_set() or self._again is None:
            return
        self._hangup.clear()
        try:
            listeners.reload(self._again())
        except (ConfigError, Refused) as error:
            LOG.error("SIGHUP: the settings are not taken over: %s", error)
        else:
            LOG.info("SIGHUP: rules and certificate are read again")


def _stop_on_signals() -> tuple[threading.Event, threading.Event]:
    """(Set by SIGTERM and Ctrl-C, set by SIGHUP)."""
    stop, hangup = threading.Event(), threading.Event()

    def request(_signal: int, _frame: FrameType | None) -> None:
        stop.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, request)
    signal.signal(signal.SIGHUP, lambda _signal, _frame: hangup.set())
    return stop, hangup


def _say(line: str) -> None:
    print(line, flush=True)


def _refuse(reason: str) -> int:
    print(f"risingpy: {reason}", file=sys.stderr, flush=True)
    return 1
