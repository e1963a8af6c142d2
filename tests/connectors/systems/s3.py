"""An S3 for tests: moto's server, which enforces If-None-Match."""

from __future__ import annotations

import importlib.util
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.connectors.systems.process import free_port, running


@dataclass(frozen=True)
class S3Server:
    """Where the server listens, as an URL. It takes any credentials."""

    url: str


@pytest.fixture(scope="session")
def s3_server() -> Iterator[S3Server]:
    """The server of this test run."""
    for library in ("moto", "boto3"):
        if importlib.util.find_spec(library) is None:
            pytest.skip(f"{library} is not installed: make test-connectors installs it")
    directory = Path(tempfile.mkdtemp(prefix="risingpy-s3-"))
    port = free_port()
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    try:
        with running(command, port, directory / "log"):
            yield S3Server(f"http://127.0.0.1:{port}")
    finally:
        shutil.rmtree(directory, ignore_errors=True)
