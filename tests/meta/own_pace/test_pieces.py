"""Shared epochs take large results over in pieces. No reader sees a part of them, and no crash loses the rest."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from risingpy.executors.epoch.descriptor import EpochDescriptor
from risingpy.meta.own_pace import pace
from risingpy.plan.catalog import JobStatus
from tests.meta.conftest import Client, Server
from tests.meta.own_pace.test_set_aside import is_set_aside, job_of, took_too_long, until

ROWS = 2000
BLOWN = "SELECT t.id, u.v, md5(t.id::text) pad FROM t JOIN u ON t.k = u.id"
ABOVE = "SELECT v, count(*) n, sum(id) s FROM blown GROUP BY v"
SEEN = "SELECT min(v), max(v), count(*) FROM blown"


@pytest.fixture
def client(server: Server, monkeypatch: pytest.MonkeyPatch) -> Client:
    """With a view that is set aside, whose results come in many pieces, and a view over it."""
    monkeypatch.setattr(pace, "PIECE_BYTES", 4096)
    monkeypatch.setattr(pace, "FIRST_REST_SECONDS", 3600.0)  # it does not join the others again meanwhile
    client = server.client()
    client.run("CREATE TABLE t (id INT PRIMARY KEY, k INT); CREATE TABLE u (id INT PRIMARY KEY, v INT)")
    client.run(f"INSERT INTO t SELECT i, 1 FROM generate_series(1, {ROWS}) i; INSERT INTO u VALUES (1, 0)")
    client.run(f"CREATE MATERIALIZED VIEW blown AS {BLOWN}; CREATE MATERIALIZED VIEW above AS {ABOVE}")
    took_too_long(server, "blown")
    client.run("UPDATE u SET v = 1")
    until(lambda: is_set_aside(server, "blown") and client.run(SEEN) == [(1, 1, ROWS)])
    until(lambda: server.database.reads.state.partial is None)
    return client


def is_partial(server: Server) -> bool:
    return server.database.reads.state.partial == job_of(server, "blown")


def held_after(pieces: int) -> Callable[[EpochDescriptor], None]:
    """Has epochs fail that would take over more pieces."""

    def hold(descriptor: EpochDescriptor) -> None:
        if any(taken.pieces.first >= pieces for taken in descriptor.handed_over):
            raise OSError("held in the middle")

    return hold


def agrees(client: Client) -> bool:
    compared = {"blown": BLOWN, "above": f"SELECT v, count(*) n, sum(id) s FROM ({BLOWN}) b GROUP BY v"}
    return all(sorted(client.run(f"SELECT * FROM {name}")) == sorted(client.run(sql)) for name, sql in compared.items())


def test_readers_see_the_whole_result_or_none_of_it(server: Server, client: Client) -> None:
    reader = server.client()
    reader.run("SET visibility_mode = 'checkpoint'")
    client.run("CREATE TABLE other (i INT)")
    client.run("CREATE SUBSCRIPTION changes FROM blown WITH (retention = '1h')")
    seen: list[tuple[bool, list[tuple[object, ...]]]] = []

    def look(descriptor: EpochDescriptor) -> None:
        state = server.database.reads.state
        seen.append((state.partial is not None, reader.run(SEEN) + reader.run("SELECT v, n FROM above")))

    server.runner.before = look
    for v in (2, 3):
        client.run(f"UPDATE u SET v = {v}")
        client.run(f"INSERT INTO other VALUES ({v})")
        assert client.run("SELECT count(*) FROM other") == [(v - 1,)]  # it does not wait for the pieces
        assert client.run(SEEN) == [(v, v, ROWS)]
    server.runner.before = None
    assert agrees(client)
    assert sum(was_partial for was_partial, _ in seen) > 10
    assert {tuple(rows) for _, rows in seen} <= {((v, v, ROWS), (v, ROWS)) for v in (1, 2, 3)}
    assert client.run("SELECT rw_digest('blown')") != [(None,)]


def test_a_restart_between_two_pieces_loses_nothing(server: Server, client: Client) -> None:
    for round_ in range(2, 5):
        server.runner.before = held_after(3)
        client.run("SET visibility_mode = 'checkpoint'")
        client.run(f"UPDATE u SET v = {round_}; DELETE FROM t WHERE id % 100 = {round_}")
        until(lambda: is_partial(server))
        server.restart()
        client = server.client()
        assert agrees(client)
        assert not is_partial(server)


def test_results_that_are_gone_after_a_crash_stop_the_view(server: Server, client: Client) -> None:
    server.runner.before = held_after(1)
    client.run("SET visibility_mode = 'checkpoint'; UPDATE u SET v = 9")
    until(lambda: is_partial(server))
    server.stop()
    for path in (server.data_dir / "handed-over").glob("*/done"):
        path.unlink()
    server.start()
    client = server.client()
    relation = job_of(server, "blown")
    until(lambda: server.database.reads.catalog.relations[relation].status is JobStatus.UNRECOVERED)  # type: ignore[union-attr]
    client.run("RECOVER")
    assert agrees(client)


def test_a_change_of_the_schema_finds_whole_relations(server: Server, client: Client) -> None:
    client.run("SET visibility_mode = 'checkpoint'")
    for v in range(20, 26):
        client.run(f"UPDATE u SET v = {v}")
        until(lambda: is_partial(server) or server.database.reads.state.set_aside == {})
        client.run(f"CREATE MATERIALIZED VIEW m{v} AS SELECT v, count(*) n FROM blown GROUP BY v")
    client.run("SET visibility_mode = 'all'")
    for v in range(20, 26):
        assert client.run(f"SELECT * FROM m{v}") == [(25, ROWS)]
    assert agrees(client)
    client.run("UPDATE u SET v = 30")
    client.run("DROP MATERIALIZED VIEW blown CASCADE; CREATE MATERIALIZED VIEW blown AS " + BLOWN)
    assert client.run(SEEN) == [(30, 30, ROWS)]
