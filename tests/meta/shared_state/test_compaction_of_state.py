"""Merges, snapshots and vacuum: what a reader finds is the same, in fewer objects; pins keep what they name."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from risingpy.cli import main
from risingpy.errors import SqlError
from risingpy.meta.shared_state.compactor import Compactor
from risingpy.meta.shared_state.pins import drop_pin, pin_state, restore_pin
from risingpy.storage.journal.compaction import Thresholds
from risingpy.storage.journal.reading import read_version
from risingpy.storage.journal.record import DamagedState
from risingpy.storage.journal.vacuum import Ages
from risingpy.storage.journal.version import version_name
from risingpy.storage.objects.directory_objects import DirectoryObjects
from tests.meta.conftest import Client, Server
from tests.meta.shared_state.conftest import SharedServers
from tests.meta.shared_state.test_shared_state import answers, digests, fill

NO_AGE = Ages(least=-1, retention=-1)


def compactor(servers: SharedServers, name: str, objects: int, least: int) -> Compactor:
    database = servers.running[name]
    assert database._shared is not None
    thresholds = Thresholds(objects=objects, least=least)
    return Compactor(database._shared.journal, database._acquire_view, thresholds=thresholds, ages=NO_AGE)


def change(client: Client, chance: random.Random) -> None:
    for _ in range(chance.randrange(1, 6)):
        key, grp = chance.randrange(600), chance.randrange(5)
        client.run(
            chance.choice(
                (
                    f"INSERT INTO t VALUES ({key}, {grp}, {key * 3 % 50})",
                    f"UPDATE t SET v = v + 1 WHERE grp = {grp} AND id % 3 = 0",
                    f"DELETE FROM t WHERE grp = {grp} AND id % 4 = 1",
                    f"INSERT INTO u VALUES ({grp}, 'again')",
                    "DELETE FROM u",
                )
            )
        )
    client.run("FLUSH")


@pytest.mark.parametrize("seed", range(2))
def test_a_version_stays_what_it_is(servers: SharedServers, seed: int) -> None:
    """Whatever is merged, written anew or deleted, a new directory and a cache that is behind come to the same."""
    chance = random.Random(seed)
    client = servers.start("a")
    fill(client)
    servers.stop("a")
    name = "b"
    client = servers.start(name)
    for _ in range(3):
        for _ in range(2):
            change(client, chance)
            compact = compactor(servers, name, chance.choice((2, 3, 10_000)), chance.choice((1, 10_000, 1 << 40)))
            compact.look()
            if chance.random() < 0.5:
                compact.vacuum()
        before, digest = answers(client), digests(client)
        name = chance.choice("abc")
        for each in list(servers.running):
            servers.stop(each)
        client = servers.start(name)
        assert answers(client) == before
        assert digests(client) == digest


def test_a_vacuum_leaves_what_is_needed_and_little_else(servers: SharedServers) -> None:
    client, chance = servers.start("a"), random.Random(1)
    fill(client)
    client.run("CREATE TABLE gone AS SELECT g AS id FROM generate_series(1, 100) AS s(g); FLUSH")
    for _ in range(8):
        change(client, chance)
    client.run("DROP TABLE gone; FLUSH")
    objects = DirectoryObjects(servers.shared)
    before = len(list(objects.list("")))
    compact = compactor(servers, "a", 2, 1)
    compact.look()
    assert compact.vacuum() > 15
    version = read_version(objects)
    assert version.deltas == []
    left = [found.name for found in objects.list("")]
    assert len(left) < before / 2
    assert set(version.needed_objects()) <= set(left)
    digest = digests(client)
    servers.burn("a")
    assert digests(servers.start("a")) == digest


def test_what_is_young_is_not_deleted(servers: SharedServers) -> None:
    client = servers.start("a")
    fill(client)
    objects = DirectoryObjects(servers.shared)
    objects.put("d/77-0.abc-0", b"of a task that has not reported yet")
    database = servers.running["a"]
    assert database._shared is not None
    compact = Compactor(database._shared.journal, database._acquire_view, thresholds=Thresholds(2, least=1))
    compact.look()
    assert compact.vacuum() == 0


def test_who_does_not_lead_any_more_deletes_nothing(servers: SharedServers) -> None:
    client = servers.start("a")
    fill(client)
    compact = compactor(servers, "a", 2, 1)
    compact.look()
    servers.start("b")
    before = {found.name for found in DirectoryObjects(servers.shared).list("")}
    with pytest.raises(SqlError, match="another server has taken over"):
        compact.vacuum()
    # The server that leads writes meanwhile: objects may come, and none may go.
    assert before <= {found.name for found in DirectoryObjects(servers.shared).list("")}


def test_a_vacuum_that_lacks_a_version_deletes_nothing(servers: SharedServers) -> None:
    """It cannot know what the version needs."""
    fill(servers.start("a"))
    version = pin_state(servers.uri, "monday")
    objects = DirectoryObjects(servers.shared)
    objects.delete(version_name(version.slot))
    before = {found.name for found in objects.list("")}
    with pytest.raises(DamagedState, match="is missing, and a pin"):
        compactor(servers, "a", 2, 1).vacuum()
    # Epochs go on writing to the journal: objects may come, and none may go.
    assert before <= {found.name for found in objects.list("")}


def test_a_pin_is_a_backup(servers: SharedServers, tmp_path: Path) -> None:
    client = servers.start("a")
    fill(client)
    before, digest = answers(client), digests(client)
    pin_state(servers.uri, "monday")
    with pytest.raises(SqlError, match='there is a pin "monday" already'):
        client.run("DELETE FROM t; FLUSH")
        pin_state(servers.uri, "monday")
    compact = compactor(servers, "a", 2, 1)
    for _ in range(3):
        client.run("INSERT INTO t VALUES (1, 1, 1); FLUSH")
        compact.look()
        compact.vacuum()
    restore_pin(servers.uri, "monday", tmp_path / "restored")
    server = Server(tmp_path / "restored")
    try:
        assert answers(server.client()) == before
        assert digests(server.client()) == digest
        server.client().run("INSERT INTO t VALUES (9999, 1, 1); FLUSH")
    finally:
        server.stop()
    with pytest.raises(SqlError, match="not empty"):
        restore_pin(servers.uri, "monday", tmp_path / "restored")
    drop_pin(servers.uri, "monday")
    with pytest.raises(SqlError, match='has no pin "monday"'):
        drop_pin(servers.uri, "monday")
    with pytest.raises(SqlError, match='has no pin "tuesday"'):
        restore_pin(servers.uri, "tuesday", tmp_path / "other")
    with pytest.raises(SqlError, match="has no database"):
        pin_state((tmp_path / "nothing").as_uri(), "monday")
    with pytest.raises(SqlError, match="is no name for a pin"):
        pin_state(servers.uri, "../monday")


def test_the_commands(servers: SharedServers, tmp_path: Path) -> None:
    servers.start("a").run("CREATE TABLE t (a INT); INSERT INTO t VALUES (1); FLUSH")

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(main, arguments)

    pinned = run("pin", "--state", servers.uri, "first")
    assert (pinned.exit_code, pinned.output[:17]) == (0, "first keeps epoch")
    assert "is no name for a pin" in run("pin", "--state", servers.uri, "no/name").output
    target = str(tmp_path / "restored")
    assert run("restore", "--state", servers.uri, "--data-dir", target).exit_code == 2
    assert run("restore", "--pin", "first", "--data-dir", target, str(tmp_path)).exit_code == 2
    restored = run("restore", "--state", servers.uri, "--pin", "first", "--data-dir", target)
    assert (restored.exit_code, restored.output[-14:]) == (0, ": no problems\n")
    assert run("pin", "--drop", "--state", servers.uri, "first").exit_code == 0
    gone = run("restore", "--state", servers.uri, "--pin", "first", "--data-dir", target + "2")
    assert (gone.exit_code, "has no pin" in gone.output) == (1, True)
