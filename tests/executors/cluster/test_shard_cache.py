"""Caches of shards: whatever a machine has, a task finds what is committed and the attempts that its input is from."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from risingpy.executors.cluster.order import EpochOrder, LastCommit
from risingpy.executors.cluster.platform import this_platform
from risingpy.executors.cluster.shard_cache import ShardCaches
from risingpy.executors.epoch.descriptor import EpochDescriptor, EpochIsOver
from risingpy.functions.evaluation.stored_casts import cast_stored
from risingpy.storage.engine.mem_table import WriteBatch
from risingpy.storage.engine.shard_store import ShardStore, shard_directory
from risingpy.storage.engine.table_statistics import TABLE_ID_BYTES
from risingpy.storage.journal.delta import INLINE_BYTES
from risingpy.storage.journal.entries import Delta, EpochCommit, MetaEntry
from risingpy.storage.journal.journal import Journal
from risingpy.storage.journal.leadership import fence, take_term
from risingpy.storage.journal.reading import follow
from risingpy.storage.journal.record import DamagedState
from risingpy.storage.journal.vacuum import Ages, vacuum
from risingpy.storage.journal.version import Version
from risingpy.storage.objects.directory_objects import DirectoryObjects
from risingpy.storage.objects.object_store import ObjectStore
from risingpy.storage.tuning import DEFAULT_TUNING

Rows = dict[str, str | None]


def batch(written: Rows) -> WriteBatch:
    keys = [(7).to_bytes(TABLE_ID_BYTES) + b"\0\0" + name.encode() for name in sorted(written)]
    values = [None if (v := written[name]) is None else v.encode() for name in sorted(written)]
    return WriteBatch(pa.array(keys, pa.binary()), pa.array(values, pa.binary()))


def values_of(store: ShardStore, names: str) -> Rows:
    found: list[pa.BinaryArray] = []
    store.change(lambda each: found.append(each.get_values(batch(dict.fromkeys(names)).keys)))
    values = (None if value is None else value.decode() for value in found[0].to_pylist())
    return dict(zip(sorted(names), values, strict=True))


class Cluster:
    """A state with a leader, and machines that are called by names."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.objects: ObjectStore = DirectoryObjects(root / "shared")
        term = take_term(self.objects, "test")
        self.journal = Journal(self.objects, fence(self.objects, term, "test"), term)
        self.committed = 0
        self.last: LastCommit | None = None
        self.machines: dict[str, ShardCaches] = {}

    def order(self, epoch: int, committed: int | None = None) -> EpochOrder:
        committed = self.committed if committed is None else committed
        descriptor = EpochDescriptor(epoch, committed, 1, 1, 0, 0, single_task=False)
        return EpochOrder("run", self.objects.uri, "c", this_platform(), descriptor, self.last, {})

    def caches(self, machine: str) -> ShardCaches:
        if machine not in self.machines:
            self.machines[machine] = ShardCaches(self.root / machine, "c", self.objects, DEFAULT_TUNING)
        return self.machines[machine]

    def attempt(
        self, machine: str, epoch: int, stage: int, written: Rows, earlier: dict[int, Delta] | None = None
    ) -> Delta:
        with self.caches(machine).use(self.order(epoch), 0, earlier or {}) as store:
            with store.begin(epoch, stage, committed=self.committed) as transaction:
                transaction.put_rows(batch(written))
                transaction.commit()
            assert transaction.delta is not None
            return transaction.delta

    def commit(self, epoch: int, deltas: dict[int, Delta], *, told: bool = True) -> None:
        in_order = tuple(deltas[stage] for stage in sorted(deltas))
        self.journal.append(MetaEntry({"epoch": secrets.token_bytes(4)}, EpochCommit(epoch, 0, 1, in_order)))
        names = {stage: delta.name for stage, delta in deltas.items()}
        self.last = LastCommit(epoch, self.committed, {0: names}) if told else None
        self.committed = epoch

    def stored(self, machine: str, names: str) -> Rows:
        """What the machine's disk has, whatever counts of it."""
        path = shard_directory(self.caches(machine).directory, 0, 1)
        store = ShardStore(path, shard=0, shards=1, cast=cast_stored, tuning=DEFAULT_TUNING)
        try:
            return values_of(store, names)
        finally:
            store.close()

    def rows(self, machine: str, names: str, stage: int = 0, earlier: dict[int, Delta] | None = None) -> Rows:
        with self.caches(machine).use(self.order(self.committed + 1), 0, earlier or {}) as store:
            return values_of(store, names)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    (tmp_path / "shared").mkdir()
    made = Cluster(tmp_path)
    yield made
    made.journal.close()
    for caches in made.machines.values():
        caches.close()


def test_an_attempt_that_was_committed_counts_where_it_was_made(cluster: Cluster) -> None:
    first = cluster.attempt("a", 1, 0, {"x": "1"})
    cluster.commit(1, {0: first})
    assert cluster.rows("a", "x") == {"x": "1"}


@pytest.mark.parametrize("told", [True, False])
def test_another_machines_attempt_replaces_the_own(cluster: Cluster, told: bool) -> None:
    cluster.attempt("a", 1, 0, {"x": "lost", "y": "lost"})
    winner = cluster.attempt("b", 1, 0, {"x": "won"})
    cluster.commit(1, {0: winner}, told=told)
    assert cluster.rows("a", "xy") == {"x": "won", "y": None}
    assert cluster.rows("b", "xy") == {"x": "won", "y": None}


def test_a_machine_that_is_behind_or_new_catches_up(cluster: Cluster) -> None:
    for epoch in range(1, 5):
        delta = cluster.attempt("ab"[epoch > 1], epoch, 0, {"x": str(epoch), str(epoch): "there"})
        cluster.commit(epoch, {0: delta})
    wanted = {"1": "there", "2": "there", "3": "there", "4": "there", "x": "4"}
    assert all(cluster.rows(machine, "1234x") == wanted for machine in "abc")


def test_a_later_stage_finds_what_its_input_comes_from(cluster: Cluster) -> None:
    lost = cluster.attempt("a", 1, 0, {"x": "lost", "y": "lost"})
    won = cluster.attempt("b", 1, 0, {"x": "won"})
    assert cluster.rows("a", "xy", 1, {0: won}) == {"x": "won", "y": None}
    assert cluster.rows("a", "xy", 1, {0: lost}) == {"x": "lost", "y": "lost"}
    second = cluster.attempt("a", 1, 1, {"z": "second"}, {0: won})
    cluster.commit(1, {0: won, 1: second})
    assert all(cluster.rows(machine, "xyz") == {"x": "won", "y": None, "z": "second"} for machine in "abc")


@pytest.mark.parametrize("there", ["nothing", "an earlier epoch", "an attempt"])
def test_a_shard_that_was_loaded_ahead_follows_the_epochs_since(cluster: Cluster, there: str) -> None:
    cluster.commit(1, {0: cluster.attempt("b" if there == "an earlier epoch" else "a", 1, 0, {"x": "1", "y": "1"})})
    if there == "an attempt":
        cluster.attempt("b", 2, 0, {"x": "lost", "y": "lost"})
    cluster.commit(2, {0: cluster.attempt("a", 2, 0, {"x": "2"})})
    cluster.caches("b").load(0, 1)
    assert cluster.stored("b", "xy") == {"x": "2", "y": "1"}
    cluster.commit(3, {0: cluster.attempt("a", 3, 0, {"z": "3"})})
    assert cluster.rows("b", "xyz") == {"x": "2", "y": "1", "z": "3"}


def test_loading_a_shard_ahead_leaves_a_newer_one_and_refuses_other_parts(cluster: Cluster) -> None:
    cluster.commit(1, {0: cluster.attempt("a", 1, 0, {"x": "1"})})
    cluster.rows("a", "x")
    second = cluster.attempt("a", 2, 0, {"x": "2"})
    cluster.caches("a").load(0, 1)
    cluster.commit(2, {0: second})
    assert cluster.rows("a", "x") == {"x": "2"}
    with pytest.raises(DamagedState, match="has 1 shards, not 2"):
        cluster.caches("a").load(0, 2)


def test_a_cache_that_was_not_loaded_to_its_end_is_loaded_anew(cluster: Cluster) -> None:
    cluster.commit(1, {0: cluster.attempt("a", 1, 0, {"x": "1"})})
    directory = cluster.caches("b").directory / "shards" / "0-of-1"
    directory.mkdir(parents=True)
    (directory / "data.mdb").touch()
    assert cluster.rows("b", "x") == {"x": "1"}


def test_a_task_of_an_epoch_that_is_over_ends(cluster: Cluster) -> None:
    first = cluster.attempt("a", 1, 0, {"x": "1"})
    before = cluster.order(1)
    cluster.commit(1, {0: first})
    with pytest.raises(EpochIsOver), cluster.caches("b").use(before, 0, {}):
        pass


def test_a_state_that_is_not_there_is_never_made(cluster: Cluster) -> None:
    cluster.commit(1, {0: cluster.attempt("a", 1, 0, {"x": "1"})})
    for path in (cluster.root / "shared" / "j").iterdir():
        path.unlink()
    with pytest.raises(Exception, match="at epoch 0, not 1"), cluster.caches("b").use(cluster.order(2), 0, {}):
        pass


def test_bytes_of_attempts_that_lose_go(cluster: Cluster) -> None:
    """Those on the machine when the shard is used again, those in shared storage with the next vacuum."""
    cluster.commit(1, {0: cluster.attempt("a", 1, 0, {"x": "1"})})
    noise = secrets.token_hex(INLINE_BYTES)
    lost = cluster.attempt("a", 2, 0, {"x": noise, "y": noise})
    never_reported = cluster.attempt("b", 2, 0, {"x": noise})
    won = cluster.attempt("c", 2, 0, {"x": "won " + noise})
    cluster.commit(2, {0: won})
    assert {lost.name, never_reported.name, won.name} == {each.name for each in cluster.objects.list("d/")}
    kept = Version()
    follow(cluster.objects, kept)
    deleted = vacuum(cluster.objects, kept, time.time() + 1, lambda: None, Ages(retention=0, least=0))
    assert deleted >= 2
    assert [each.name for each in cluster.objects.list("d/")] == [won.name]
    wanted = {"x": "won " + noise, "y": None}
    assert all(cluster.rows(machine, "xy") == wanted for machine in "abcd")
    assert all(cluster.stored(machine, "xy") == wanted for machine in "abcd"), "no task has to come to take it back"
    with cluster.caches("a").use(cluster.order(3), 0, {}) as store:
        assert (store.basis().beyond(), store.basis().ahead) == ({}, frozenset())
