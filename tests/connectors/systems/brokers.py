"""Redis, NATS and an MQTT broker for tests."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.connectors.systems.process import free_port, running


def program(name: str, package: str) -> str:
    """The path of a program; the test is skipped where it is missing."""
    found = shutil.which(name) or shutil.which(name, path=f"{Path(sys.executable).parent}:/usr/sbin")
    if found is None:
        pytest.skip(f"{name} is not installed: {package}")
    return found


@contextmanager
def directory_of(name: str) -> Iterator[Path]:
    """A directory for a server, deleted afterwards."""
    path = Path(tempfile.mkdtemp(prefix=f"risingpy-{name}-"))
    path.chmod(0o777)  # mosquitto gives up root
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


@pytest.fixture(scope="session")
def redis_url() -> Iterator[str]:
    """A Redis that asks for the password `hunter2`."""
    command, port = program("redis-server", "apt install redis-server"), free_port()
    options = ["--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--requirepass", "hunter2"]
    with directory_of("redis") as directory, running([command, "--port", str(port), *options], port, directory / "log"):
        yield f"redis://:hunter2@127.0.0.1:{port}/0"


@pytest.fixture(scope="session")
def nats_url() -> Iterator[str]:
    """A NATS server with JetStream."""
    command, port = program("nats-server", "make test-connectors installs it"), free_port()
    with directory_of("nats") as directory:
        options = ["-js", "-sd", str(directory / "data"), "-a", "127.0.0.1", "-p", str(port)]
        with running([command, *options], port, directory / "log"):
            yield f"nats://127.0.0.1:{port}"


@pytest.fixture(scope="session")
def mqtt_url() -> Iterator[str]:
    """A mosquitto."""
    command, port = program("mosquitto", "apt install mosquitto"), free_port()
    with directory_of("mqtt") as directory:
        config = directory / "config"
        config.write_text(f"listener {port} 127.0.0.1\nallow_anonymous true\nmax_queued_messages 0\n")
        with running([command, "-c", str(config)], port, directory / "log"):
            yield f"tcp://127.0.0.1:{port}"
