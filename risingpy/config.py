"""The server's settings, from four places: command line, environment, `risingpy.toml`, defaults, in that order.

An option `data_dir` is `--data-dir` on the command line, `RISINGPY_DATA_DIR` in the environment and `data_dir`
in the file. A wrong value, or a name in the file that is no option, is a `ConfigError`: a typo must not silently leave
a default in force.
"""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path

from risingpy.memory import parse_bytes, show_bytes

DEFAULT_PORT = 4566  # RisingWave's
DEFAULT_FILE = Path("risingpy.toml")
ENVIRONMENT_PREFIX = "RISINGPY_"
MAX_DEFAULT_PARALLELISM = 16  # with more, an embedded server gains nothing, and an empty epoch costs more
MAX_PARALLELISM = 256  # one shard per virtual node
TASK_TRIES = 4  # plain local[N] gives up at a task's first failure
LOG_LEVELS = ("debug", "info", "warning", "error")
LOG_FORMATS = ("text", "json")
SHUFFLING_ENGINE = "spark-shuffled"  # no epoch in one task: to test the shuffle with small data
ENGINES = ("spark", SHUFFLING_ENGINE, "inprocess")

DEFAULT_CONNECTIONS = 1000
LEAST_DEFAULT_QUERIES = 8
DEFAULT_AUTHENTICATION_SECONDS = 60  # PostgreSQL's
DEFAULT_SOCKET_DIRECTORY = "/tmp"  # PostgreSQL's
TLS_VERSIONS = ("1.2", "1.3")
LOGGED_STATEMENTS = ("none", "ddl", "mod", "all")
LEAST_MEMORY = 2 << 30  # Spark's Java takes one half of it
_ON, _OFF = ("true", "on", "yes", "1"), ("false", "off", "no", "0")
_LOCAL_MASTER = re.compile(r"local(\[(\d+|\*)(,\d+)?\])?")
_CLUSTER_MASTER = re.compile(r"spark://[^\s,/]+:\d+(,[^\s,/]+:\d+)*|local-cluster\[\d+,\d+,\d+\]")


class ConfigError(Exception):
    """A setting is wrong; the message names the setting and its origin. The operator must correct it."""


@dataclass(frozen=True, slots=True)
class ServeConfig:
    """The settings of `risingpy serve`. `parallelism` is the number of shards; port 0 lets the system choose.

    `memory` is in bytes; 0 means all that the machine has. Without a `webhook_port`, no webhook is served; without an
    `http_port`, no metrics. Without a `log_file`, the log goes to standard error. `log_min_duration_statement` is in
    milliseconds: sessions begin with it, and with `log_statement`. Without a `secret_key_file`, the secrets'
    key lies beside the data directory.

    `hba` are lines in pg_hba.conf's words; without any, users of this machine come in without a password while no user
    has one, and others need one. `insecure` allows an address of the network without such a rule. The TLS files and the
    rules are read again at SIGHUP. `unix_socket_directory` None: no Unix socket. `authentication_timeout` in seconds.
    `state` is the URI of the database in shared storage, of which `data_dir` then is a cache. So is `follow`, where
    another server leads and this one only reads.
    """

    data_dir: Path
    host: str
    port: int
    master: str
    parallelism: int
    log_level: str
    engine: str
    memory: int
    webhook_port: int | None = None
    http_port: int | None = None
    http_host: str = "127.0.0.1"
    log_format: str = "text"
    log_file: Path | None = None
    log_min_duration_statement: int = -1
    max_connections: int = DEFAULT_CONNECTIONS
    max_concurrent_queries: int = LEAST_DEFAULT_QUERIES
    secret_key_file: Path | None = None
    file_roots: str = ""
    hba: tuple[str, ...] = ()
    insecure: bool = False
    superuser_password_file: Path | None = None
    superuser_password: str | None = None
    authentication_timeout: int = DEFAULT_AUTHENTICATION_SECONDS
    tls_cert: Path | None = None
    tls_key: Path | None = None
    tls_ca: Path | None = None
    tls_min_version: str = "1.2"
    unix_socket_directory: Path | None = Path(DEFAULT_SOCKET_DIRECTORY)
    log_connections: bool = False
    log_disconnections: bool = False
    log_statement: str = "none"
    state: str | None = None
    follow: str | None = None


OPTIONS = tuple(field.name for field in fields(ServeConfig))
NOT_ON_THE_COMMAND_LINE = frozenset(("superuser_password",))  # other users of the machine see command lines


def load_serve_config(
    flags: Mapping[str, object],
    environ: Mapping[str, str],
    file: Path | None = None,
) -> ServeConfig:
    """Merges the four places. `flags` has None for options that are not given.

    `file` is `--config`; without it RISINGPY_CONFIG, then `risingpy.toml` in the working directory if there is one.
    """
    merged: dict[str, tuple[object, str]] = {**_file_settings(file, environ), **_environment_settings(environ)}
    merged.update({name: (value, _flag_name(name)) for name, value in flags.items() if value is not None})
    parallelism = _integer(merged, "parallelism", default_parallelism(), 1, MAX_PARALLELISM)
    master = _text(merged, "master", f"local[{parallelism},{TASK_TRIES}]")
    require_reachable_master(master, merged["master"][1] if "master" in merged else "master", shared="state" in merged)
    return ServeConfig(
        data_dir=Path(_text(merged, "data_dir", "risingpy-data")),
        host=_text(merged, "host", "127.0.0.1"),
        port=_integer(merged, "port", DEFAULT_PORT, 0, 65535),
        master=master,
        parallelism=parallelism,
        log_level=_choice(merged, "log_level", "info", LOG_LEVELS),
        engine=_choice(merged, "engine", "spark", ENGINES),
        memory=_memory(merged),
        webhook_port=_port(merged, "webhook_port"),
        http_port=_port(merged, "http_port"),
        http_host=_text(merged, "http_host", "127.0.0.1"),
        log_format=_choice(merged, "log_format", "text", LOG_FORMATS),
        log_file=_path(merged, "log_file"),
        log_min_duration_statement=_integer(merged, "log_min_duration_statement", -1, -1, 2**31 - 1),
        max_connections=_integer(merged, "max_connections", DEFAULT_CONNECTIONS, 1, 100_000),
        max_concurrent_queries=_integer(merged, "max_concurrent_queries", default_queries(), 1, 100_000),
        secret_key_file=_path(merged, "secret_key_file"),
        file_roots=_text(merged, "file_roots", "") if "file_roots" in merged else "",
        hba=_lines(merged, "hba"),
        insecure=_switch(merged, "insecure"),
        superuser_password_file=_path(merged, "superuser_password_file"),
        superuser_password=_text(merged, "superuser_password", "") if "superuser_password" in merged else None,
        authentication_timeout=_integer(merged, "authentication_timeout", DEFAULT_AUTHENTICATION_SECONDS, 1, 600),
        tls_cert=_path(merged, "tls_cert"),
        tls_key=_path(merged, "tls_key"),
        tls_ca=_path(merged, "tls_ca"),
        tls_min_version=_choice(merged, "tls_min_version", TLS_VERSIONS[0], TLS_VERSIONS),
        unix_socket_directory=_socket_directory(merged),
        log_connections=_switch(merged, "log_connections"),
        log_disconnections=_switch(merged, "log_disconnections"),
        log_statement=_choice(merged, "log_statement", "none", LOGGED_STATEMENTS),
        state=_text(merged, "state", "") if "state" in merged else None,
        follow=_followed(merged),
    )


def _followed(merged: Mapping[str, tuple[object, str]]) -> str | None:
    """The URI of the database to follow; what only a server that leads can do must not be asked with it."""
    if "follow" not in merged:
        return None
    for name in ("state", "webhook_port", "master"):
        if name in merged:
            raise ConfigError(f"{merged['follow'][1]} and {merged[name][1]} exclude each other: one leads, or follows")
    return _text(merged, "follow", "")


def require_local_master(master: str, origin: str) -> None:
    """Raises ConfigError if Spark's master is on other machines, which do not have this one's state and log.

    A cluster would report epochs as done, and their rows would be lost.
    """
    if _LOCAL_MASTER.fullmatch(master) is None:
        raise ConfigError(
            f'{origin} must be "local", "local[N]" or "local[N,TRIES]", not "{master}": '
            "RisingPy keeps its state on this machine's disk, which the workers of a Spark cluster do not share"
        )


def require_reachable_master(master: str, origin: str, *, shared: bool) -> None:
    """As `require_local_master`; with the state in `shared` storage, a standalone cluster is taken, too."""
    if not shared:
        require_local_master(master, origin)
    elif _LOCAL_MASTER.fullmatch(master) is None and not is_cluster(master):
        raise ConfigError(f'{origin} must be "local[N]" or "spark://HOST:PORT", not "{master}"')


def is_cluster(master: str) -> bool:
    """Whether Spark's tasks run in processes of a standalone cluster, or of one that Spark starts for tests."""
    return _CLUSTER_MASTER.fullmatch(master) is not None


def default_parallelism() -> int:
    """The CPUs that this process may use, capped."""
    return min(len(os.sched_getaffinity(0)), MAX_DEFAULT_PARALLELISM)


def default_queries() -> int:
    """How many queries compute at a time: enough for all processors while some wait for their clients."""
    return max(4 * len(os.sched_getaffinity(0)), LEAST_DEFAULT_QUERIES)


def _flag_name(option: str) -> str:
    """The option on the command line: `data_dir` is `--data-dir`."""
    return "--" + option.replace("_", "-")


def _environment_name(option: str) -> str:
    """The option's variable in the environment: `data_dir` is `RISINGPY_DATA_DIR`."""
    return ENVIRONMENT_PREFIX + option.upper()


def _file_settings(file: Path | None, environ: Mapping[str, str]) -> dict[str, tuple[object, str]]:
    named = file or (Path(environ["RISINGPY_CONFIG"]) if environ.get("RISINGPY_CONFIG") else None)
    path = named or DEFAULT_FILE
    if named is None and not path.exists():
        return {}
    try:
        with path.open("rb") as stream:
            settings = tomllib.load(stream)
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path} is not TOML: {error}") from error
    for name in settings:
        if name not in OPTIONS:
            suggestion = _suggestion(name, OPTIONS, 0.6)
            raise ConfigError(f'{path}: unknown key "{name}"{suggestion}; keys are {", ".join(OPTIONS)}')
    return {name: (value, f"{path}: {name}") for name, value in settings.items()}


def _environment_settings(environ: Mapping[str, str]) -> dict[str, tuple[object, str]]:
    known = {_environment_name(option): option for option in OPTIONS}
    for name in environ:
        # Other programs' variables share the prefix, so only a near miss is taken for a typo.
        if name.startswith(ENVIRONMENT_PREFIX) and name not in known:
            suggestion = _suggestion(name, tuple(known), 0.85)
            if suggestion:
                raise ConfigError(f'unknown environment variable "{name}"{suggestion}')
    return {option: (environ[name], name) for name, option in known.items() if environ.get(name)}


def _suggestion(name: str, known: tuple[str, ...], likeness: float) -> str:
    close = difflib.get_close_matches(name, known, n=1, cutoff=likeness)
    return f', did you mean "{close[0]}"?' if close else ""


def _text(merged: Mapping[str, tuple[object, str]], name: str, default: str) -> str:
    value, origin = merged.get(name, (default, ""))
    if not isinstance(value, str) or not value:
        if isinstance(value, Path):
            return str(value)
        raise ConfigError(f"{origin} must be a text, not {value!r}")
    return value


def _integer(merged: Mapping[str, tuple[object, str]], name: str, default: int, low: int, high: int) -> int:
    value, origin = merged.get(name, (default, ""))
    try:
        number = int(value) if isinstance(value, int | str) and not isinstance(value, bool) else None
    except ValueError:
        number = None
    if number is None or not low <= number <= high:
        raise ConfigError(f"{origin} must be a whole number from {low} to {high}, not {value!r}")
    return number


def _path(merged: Mapping[str, tuple[object, str]], name: str) -> Path | None:
    """A file that is used only if it is given."""
    return Path(_text(merged, name, "")) if name in merged else None


def _port(merged: Mapping[str, tuple[object, str]], name: str) -> int | None:
    """A port that is not served unless it is given."""
    return _integer(merged, name, 0, 0, 65535) if name in merged else None


def _socket_directory(merged: Mapping[str, tuple[object, str]]) -> Path | None:
    """An empty text, or "none", is no socket at all."""
    value, _ = merged.get("unix_socket_directory", (DEFAULT_SOCKET_DIRECTORY, ""))
    if str(value) in ("", ".", "none"):  # "." is what Path("") prints
        return None
    return Path(_text(merged, "unix_socket_directory", DEFAULT_SOCKET_DIRECTORY))


def _switch(merged: Mapping[str, tuple[object, str]], name: str) -> bool:
    value, origin = merged.get(name, (False, ""))
    if isinstance(value, bool):
        return value
    word = str(value).lower()
    if word not in (*_ON, *_OFF):
        raise ConfigError(f"{origin} must be true or false, not {value!r}")
    return word in _ON


def _lines(merged: Mapping[str, tuple[object, str]], name: str) -> tuple[str, ...]:
    """A list of texts, or a text of lines."""
    value, origin = merged.get(name, ((), ""))
    lines = value.splitlines() if isinstance(value, str) else value
    if not isinstance(lines, list | tuple) or not all(isinstance(line, str) for line in lines):
        raise ConfigError(f"{origin} must be a list of lines, not {value!r}")
    return tuple(lines)


def _memory(merged: Mapping[str, tuple[object, str]]) -> int:
    value, origin = merged.get("memory", ("0", ""))
    try:
        amount = parse_bytes(str(value))
    except ValueError as error:
        raise ConfigError(f"{origin}: {error}") from None
    if amount and amount < LEAST_MEMORY:
        raise ConfigError(f"{origin} must be {show_bytes(LEAST_MEMORY)} at least, not {value!r}")
    return amount


def _choice(merged: Mapping[str, tuple[object, str]], name: str, default: str, choices: tuple[str, ...]) -> str:
    value, origin = merged.get(name, (default, ""))
    if value not in choices:
        raise ConfigError(f"{origin} must be one of {', '.join(choices)}, not {value!r}")
    return str(value)
