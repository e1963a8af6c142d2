"""ALTER SYSTEM SET parallelism = adaptive: the shards follow the engine's cores, when these have settled."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from risingpy.errors import SqlError
from risingpy.meta.adaptive_parallelism import FEWER_SECONDS, MORE_SECONDS, AdaptiveParallelism
from tests.engines import Engine
from tests.meta.conftest import Client, Server
from tests.meta.test_rescale import answers, fill


class Watched:
    """A server's database with a clock of the test's."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.cores: int | None = 2
        self.now = 0.0
        self.begin()

    def begin(self) -> None:
        """As a server does when it starts."""
        self.adaptive = AdaptiveParallelism(self.server.database, lambda: self.cores)

    def after(self, seconds: float) -> int:
        """The number of shards after so many seconds."""
        for _ in range(int(seconds)):
            self.now += 1
            self.adaptive.look(self.now)
        self.server.client().run("ALTER SYSTEM SET job_epoch_ms TO DEFAULT")  # after what `look` has asked for
        end = time.monotonic() + 30
        while self.server.database.reads.state.wanted_shards:
            assert time.monotonic() < end
            time.sleep(0.01)
        return self.server.database.shards


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Watched]:
    server = Server(tmp_path / "data", Engine())
    yield Watched(server)
    if server.is_running:
        server.stop()


def parameters(client: Client) -> dict[str, str]:
    return dict(row[:2] for row in client.run("SHOW PARAMETERS"))


def test_more_cores_count_soon_and_fewer_late(watched: Watched) -> None:
    client = watched.server.client()
    fill(client)
    before = answers(client)
    watched.cores = 4
    assert watched.after(2 * MORE_SECONDS) == 2, "nobody has asked for it"
    client.run("ALTER SYSTEM SET parallelism = adaptive")
    assert parameters(client)["adaptive_parallelism"] == "on"
    assert watched.after(MORE_SECONDS - 1) == 2
    watched.cores = 3
    assert watched.after(MORE_SECONDS - 1) == 2, "the time begins anew"
    assert watched.after(3) == 3
    watched.cores = 1
    assert watched.after(FEWER_SECONDS - 1) == 3
    watched.cores = None  # Spark starts anew
    assert watched.after(FEWER_SECONDS) == 3
    watched.cores = 1
    assert watched.after(FEWER_SECONDS + 2) == 1
    watched.cores = 1_000_000
    with pytest.raises(SqlError) as refused:
        client.run("ALTER SYSTEM SET parallelism = automatic")
    assert refused.value.sqlstate == "22023" and "adaptive" in str(refused.value.hint)
    assert answers(client) == before


def test_a_number_ends_it_and_a_restart_does_not(watched: Watched) -> None:
    watched.server.client().run("ALTER SYSTEM SET parallelism = ADAPTIVE")
    watched.server.restart()
    watched.begin()
    client = watched.server.client()
    assert parameters(client)["adaptive_parallelism"] == "on"
    watched.cores = 3
    assert watched.after(MORE_SECONDS + 2) == 3
    client.run("ALTER SYSTEM SET parallelism = 2")
    assert parameters(client)["adaptive_parallelism"] == "off"
    assert watched.after(2 * MORE_SECONDS) == 2
