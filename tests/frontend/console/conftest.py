"""A server with a console, for the tests of a file."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from risingpy.server_process import ServerProcess
from tests.frontend.console.page import Page


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    flags = ["--http-port", "0", "--unix-socket-directory", "none"]
    process = ServerProcess(tmp_path_factory.mktemp("served") / "data", engine="inprocess", flags=flags)
    yield process
    process.stop()


@pytest.fixture
def page(server: ServerProcess) -> Page:
    """A page that has logged in as root, without a password: there is none yet."""
    assert server.http_port is not None
    opened = Page(server.http_port)
    assert opened.log_in() == 200
    return opened
