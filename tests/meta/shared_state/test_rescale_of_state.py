"""Another number of shards with `--state`: the same answers after it, on every disk, and wherever it is killed."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from risingpy.errors import SqlError
from risingpy.meta.database import Database
from risingpy.meta.durable_state import DurableState
from risingpy.meta.epochs.rescaling import Rescaling
from risingpy.meta.recovery import rescale as rescale_module
from risingpy.meta.recovery.check import check
from risingpy.meta.shared_state.pins import pin_state, restore_pin
from risingpy.meta.state import MetaState
from risingpy.storage.engine import meta_store
from risingpy.storage.engine.read_views import ReadView, StateStore
from risingpy.storage.engine.shard_store import ShardStore, shards_directory
from risingpy.storage.journal import compaction
from risingpy.storage.journal.reading import read_version
from risingpy.storage.objects.directory_objects import DirectoryObjects
from tests.meta.conftest import Client, Server
from tests.meta.shared_state import test_shared_state
from tests.meta.shared_state.conftest import SharedServers
from tests.meta.shared_state.test_compaction_of_state import compactor
from tests.meta.shared_state.test_following import settle, until
from tests.meta.test_rescale import answers, changed, fill


@pytest.fixture(autouse=True)
def _at_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """A running server leaves the move to the next one, as while something is being created."""
    monkeypatch.setattr(Rescaling, "is_due", lambda *_: False)


def rescale(servers: SharedServers, client: Client, shards: int, then: str) -> Client:
    """Asks the server that leads for so many shards, and starts the server `then` in its place."""
    client.run(f"ALTER SYSTEM SET parallelism = {shards}")
    for name in list(servers.running):
        servers.stop(name)
    return servers.start(then)


def shards_of(servers: SharedServers, name: str) -> int:
    assert len(list(shards_directory(servers.root / name).iterdir())) == servers.running[name].shards
    return servers.running[name].shards


@pytest.mark.parametrize("then", ["a", "new", "behind"])
def test_answers_stay(servers: SharedServers, then: str) -> None:
    """On the leader's disk, on an empty one, and on one with the shards of an earlier epoch."""
    client = servers.start("behind")
    fill(client)
    servers.stop("behind")
    client = servers.start("a")
    client.run("UPDATE t SET n = n + 1 WHERE id % 3 = 0; FLUSH")
    before = answers(client)
    for shards in (3, 1, 2, 8):
        client = rescale(servers, client, shards, then)
        assert shards_of(servers, then) == shards
        assert answers(client) == before
        before = changed(client)
        client.run("DELETE FROM t WHERE id = 1000")
        before = answers(client)
    servers.stop(then)
    assert check(servers.root / then).problems == ()
    for name in ("a", "behind", "burnt"):
        assert answers(servers.start(name)) == before
        assert shards_of(servers, name) == 8
        servers.stop(name)


def test_shards_of_an_earlier_layout_are_not_believed(servers: SharedServers) -> None:
    """They have the same number and count as the present ones, and rows that the journal has no deltas for any more."""
    client = servers.start("a")
    fill(client)
    servers.stop("a")
    client = rescale(servers, servers.start("b"), 3, "b")
    client.run("UPDATE t SET n = 4; FLUSH")
    client = rescale(servers, client, 2, "b")
    before = answers(client)
    servers.stop("b")
    assert answers(servers.start("a")) == before


def test_rows_that_no_epoch_has_yet_move_too(servers: SharedServers) -> None:
    client = servers.start("a")
    fill(client)
    client.run("ALTER SYSTEM SET parallelism = 5; FLUSH")
    database = servers.running["a"]
    assert database._loop is not None
    database._loop.stop()
    client.run("INSERT INTO t VALUES (5000, 1, 'late'), (5001, 2, 'late')")
    servers.burn("a")
    client = servers.start("b")
    client.run("FLUSH")
    assert client.run("SELECT id FROM t WHERE name = 'late' ORDER BY id") == [(5000,), (5001,)]
    assert client.run("SELECT count(*) = (SELECT sum(c) FROM m) FROM t") == [(True,)]


def test_a_database_without_an_epoch(servers: SharedServers) -> None:
    client = rescale(servers, servers.start("a"), 3, "b")
    client.run("CREATE TABLE t (a INT PRIMARY KEY); INSERT INTO t SELECT * FROM generate_series(1, 100); FLUSH")
    assert read_version(DirectoryObjects(servers.shared)).shards == 3
    servers.burn("b")
    assert servers.start("c").run("SELECT count(*) FROM t") == [(100,)]


class Killed(BaseException):
    pass


def _at(call: int, real: Callable[..., Any]) -> Callable[..., Any]:
    """Does what `real` does, but for its call of that number, before which the process dies."""
    guard, calls = threading.Lock(), iter(range(1, 1 << 30))

    def counting(*arguments: Any, **named: Any) -> Any:
        with guard:
            number = next(calls)
        if number >= call:
            raise Killed
        return real(*arguments, **named)

    return counting


def _kill(patch: pytest.MonkeyPatch, step: str) -> None:
    match step:
        case "rows":
            patch.setattr(ShardStore, "fill", _at(5, ShardStore.fill))
        case "no object":
            patch.setattr(compaction, "put_parts", _at(1, compaction.put_parts))
        case "some objects":
            patch.setattr(compaction, "put_parts", _at(9, compaction.put_parts))
        case "all objects":
            patch.setattr(DurableState, "commit", _at(1, DurableState.commit))
        case "record":  # the journal has it, and the server's own store does not
            patch.setattr(meta_store.MetaTransaction, "_write_into", _at(2, meta_store.MetaTransaction._write_into))
        case "own store":
            patch.setattr(rescale_module, "remove_other_shards", _at(2, rescale_module.remove_other_shards))


STEPS = {"rows": 2, "no object": 2, "some objects": 2, "all objects": 2, "record": 5, "own store": 5}


@pytest.mark.parametrize("then", ["a", "b"])
@pytest.mark.parametrize("step", STEPS)
def test_killed_on_the_way(servers: SharedServers, step: str, then: str, monkeypatch: pytest.MonkeyPatch) -> None:
    client = servers.start("a")
    fill(client)
    client.run("FLUSH")
    before = answers(client)
    client.run("ALTER SYSTEM SET parallelism = 5")
    servers.stop("a")
    with monkeypatch.context() as patch:
        _kill(patch, step)
        with pytest.raises(Killed):
            servers.start("a")
    version = read_version(DirectoryObjects(servers.shared))
    assert version.shards == STEPS[step]
    client = servers.start(then)
    assert shards_of(servers, then) == 5
    assert answers(client) == before
    changed(client)
    servers.stop(then)
    assert check(servers.root / then).problems == ()


def test_what_was_before_is_deleted_and_pins_keep_it(servers: SharedServers, tmp_path: Path) -> None:
    client = servers.start("a")
    test_shared_state.fill(client)
    before, digest = test_shared_state.answers(client), test_shared_state.digests(client)
    compactor(servers, "a", 2, 1).look()
    pin_state(servers.uri, "two")
    client = rescale(servers, client, 3, "a")
    client.run("DELETE FROM t WHERE id < 100; FLUSH")
    objects = DirectoryObjects(servers.shared)
    compact = compactor(servers, "a", 2, 1)
    compact.look()
    compact.vacuum()
    pinned = set(read_version(objects, up_to=_slot_of_pin(objects)).needed_objects())
    assert pinned <= {found.name for found in objects.list("")}
    restore_pin(servers.uri, "two", tmp_path / "restored")
    server = Server(tmp_path / "restored")
    try:
        assert server.database.shards == 2
        assert test_shared_state.answers(server.client()) == before
        assert test_shared_state.digests(server.client()) == digest
    finally:
        server.stop()
    digest = test_shared_state.digests(client)
    servers.burn("a")
    assert test_shared_state.digests(servers.start("a")) == digest


def _slot_of_pin(objects: DirectoryObjects) -> int:
    return max(int(found.name[2:]) for found in objects.list("m/"))


def test_a_follower_goes_on(servers: SharedServers) -> None:
    """It loads the new shards while what it has is read; what somebody still reads stays."""
    leader = servers.start("a")
    test_shared_state.fill(leader)
    leader.run("FLUSH")
    follower = servers.follow("f")
    before = test_shared_state.answers(follower)
    database = servers.running["f"]
    state, held = _held(database)
    leader.run("ALTER SYSTEM SET parallelism = 3")
    servers.stop("a")
    leader = servers.start("b")
    leader.run("INSERT INTO t VALUES (9000, 1, 1)")
    settle(servers, leader, follower)
    assert database.shards == 3
    assert held.shards == state.shards == 2
    assert test_shared_state.answers(follower) == test_shared_state.answers(leader) != before
    assert test_shared_state.digests(follower) == test_shared_state.digests(leader)
    assert {path.name[-1] for path in shards_directory(servers.root / "f").iterdir()} == {"2", "3"}
    assert sum(each.rows for each in held.statistics().values()) > 0
    held.release()
    until(lambda: {path.name[-1] for path in shards_directory(servers.root / "f").iterdir()} == {"3"})
    servers.stop("f")
    follower = servers.follow("f")
    assert test_shared_state.digests(follower) == test_shared_state.digests(leader)


def _held(database: Database) -> tuple[MetaState, ReadView]:
    return database._published.acquire_view()


def test_a_follower_whose_reader_has_old_shards_ends_rather_than_mix_them(servers: SharedServers) -> None:
    """Back to the number of before, while a query still reads shards of these names."""
    leader = servers.start("a")
    test_shared_state.fill(leader)
    leader.run("FLUSH")
    follower = servers.follow("f")
    database = servers.running["f"]
    _, held = _held(database)
    for number, shards in enumerate((3, 2)):
        leader = rescale_only(servers, leader, shards, f"b{number}")
        leader.run("UPDATE t SET v = v + 1; FLUSH")
        if shards == 3:
            settle(servers, leader, follower)
    until(lambda: database.lost is not None)
    assert isinstance(database.lost, SqlError) and database.lost.sqlstate == "55006"
    assert sum(each.rows for each in held.statistics().values()) > 0
    held.release()
    servers.stop("f")
    assert test_shared_state.digests(servers.follow("f")) == test_shared_state.digests(leader)


def rescale_only(servers: SharedServers, leader: Client, shards: int, then: str) -> Client:
    """As `rescale`, but followers go on."""
    leader.run(f"ALTER SYSTEM SET parallelism = {shards}")
    for name in [name for name, each in servers.running.items() if each.is_shared]:
        servers.stop(name)
    return servers.start(then)


def test_histories(servers: SharedServers) -> None:
    """Changes, compactions, vacuums and other numbers of shards, on one disk and on others, and a follower."""
    chance = random.Random(1)
    leader = servers.start("a")
    test_shared_state.fill(leader)
    leader.run("FLUSH")
    follower = servers.follow("f")
    for number in range(6):
        for _ in range(chance.randrange(4)):
            leader.run(chance.choice(("UPDATE t SET v = v + 1 WHERE id % 3 = 0", "DELETE FROM t WHERE id % 17 = 4")))
            leader.run(f"INSERT INTO t SELECT g, g % 5, g FROM generate_series({number}000, {number}100) AS s(g) "
                       "ON CONFLICT (id) DO NOTHING; FLUSH")  # fmt: skip
            led = next(name for name, each in servers.running.items() if each.is_shared)
            compact = compactor(servers, led, chance.choice((2, 3, 1000)), chance.choice((1, 10_000, 1 << 40)))
            compact.look()
        if chance.random() < 0.7:
            leader = rescale_only(servers, leader, chance.randrange(1, 5), chance.choice("abc"))
        settle(servers, leader, follower)
        assert test_shared_state.answers(follower) == test_shared_state.answers(leader)
        assert test_shared_state.digests(follower) == test_shared_state.digests(leader)


def test_stores_of_two_layouts(tmp_path: Path) -> None:
    store = StateStore(tmp_path, 2)
    store.recover(0)
    view = store.open_read_view(0)
    made = store.prepare(3)
    store.lay_out(made)
    assert (store.shards, view.shards) == (3, 2)
    with pytest.raises(SqlError, match="are still read"):
        store.prepare(2)
    with pytest.raises(SqlError, match="are still read"):
        store.prepare(3)
    view.release()
    assert {path.name for path in shards_directory(tmp_path).iterdir()} <= {"0-of-3", "1-of-3", "2-of-3"}
    store.prepare(2)
    store.close()
