"""Servers of one database over a store that fails, in one thread: what a seed says happens, at every step.

A simulated server has the product's journal, leadership, deltas, compaction and vacuum. Only its shards are
dictionaries, and its one view is computed here. Between any two of its requests to the store it may die, a request may
have no answer though it was applied, or another server may take over and work.

A statement has a number of its own. It writes `t[key] = number`, or deletes the key if the number is one in three, and
`h[number] = (position, key)`, where the position counts the statements in the order of the log. So at the end `h` tells
which statements count and in which order, and `t` must be what follows from it: a row that was lost, applied twice,
half or in another order shows.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from risingpy.errors import CannotConnectNow, IoError
from risingpy.storage.engine.mem_table import WriteBatch
from risingpy.storage.journal.compaction import Thresholds, due_merges, due_tables, merge, put_parts
from risingpy.storage.journal.delta import ShardDeltas, read_batches, table_id_of
from risingpy.storage.journal.entries import EpochCommit, Layout, LogEntry, MetaEntry, SnapshotEntry, TableSnapshot
from risingpy.storage.journal.journal import Journal, Patience
from risingpy.storage.journal.leadership import fence, refuse_later_term, take_term
from risingpy.storage.journal.reading import read_delta, read_log, read_version
from risingpy.storage.journal.vacuum import Ages, vacuum
from risingpy.storage.journal.version import Version, decode_version, encode_version, version_name
from risingpy.storage.objects.object_store import put_own
from tests.storage.journal.memory_objects import MemoryObjects

SHARDS = 2  # of a new database
MOST_SHARDS = 4
T, H = 1, 2  # the tables
KEYS = 6
# Every put is followed by a look for a later term: as if each of them had taken days. Only then the vacuum may delete
# whatever it likes. Else it would have to leave what is younger than a put takes, which is everything here.
AS_AFTER_DAYS = Patience(serves=-1.0, looks=3600.0, first_pause=0.0, longest_pause=0.0)
PROMPT = Patience(serves=3600.0, looks=3600.0, first_pause=0.0, longest_pause=0.0)
Rows = dict[bytes, bytes | None]


@dataclass(frozen=True)
class Cache:
    """The shards of a committed epoch."""

    epoch: int
    shards: list[Rows]


class Crash(BaseException):
    """The process is gone."""


@dataclass
class Known:
    """What clients know: statements that were answered, in the order of their answers, and those that may count.

    `before`: for each statement, how many had been answered when it began. They must count before it.
    """

    answered: list[int] = field(default_factory=list)
    unknown: set[int] = field(default_factory=set)
    keys: dict[int, int] = field(default_factory=dict)
    before: dict[int, int] = field(default_factory=dict)


def stored_key(table: int, key: int) -> bytes:
    return table.to_bytes(4) + (0).to_bytes(2) + key.to_bytes(4)


def shard_of(table: int, key: int, shards: int) -> int:
    return (table + key) % shards


class SimulatedServer:
    """Takes the lead in the constructor."""

    def __init__(
        self, objects: MemoryObjects, chance: random.Random, patience: Patience, caches: Sequence[Cache] = ()
    ) -> None:
        """`caches`: what earlier servers have on their disks."""
        self.objects, self.chance = objects, chance
        self.may_delete = patience is AS_AFTER_DAYS
        self.is_dead = self.is_compacting = False
        term = take_term(objects, "server")
        version = fence(objects, term, "server")
        self.epoch, self.lsn = version.epoch, version.lsn
        self.shards = rebuilt(objects, version)
        for cache in caches:
            if version.complete_after <= cache.epoch <= version.epoch:
                assert caught_up(objects, version, cache) == self.shards, "a cache has other rows"
        self.pending = [(e.first_lsn, *json.loads(e.block)) for e in read_log(objects, version)]
        self.last_lsn = max(version.last_lsn, version.lsn)
        self.deltas = ShardDeltas(objects, inline_bytes=chance.choice((0, 300, 1 << 20)))
        self.thresholds = Thresholds(objects=chance.randrange(2, 5), least=chance.choice((1, 600, 1 << 30)))
        self.journal = Journal(objects, version, term, patience=patience)

    def write(self, number: int, key: int) -> None:
        """A statement; when it returns, the client has its answer."""
        lsn = self.last_lsn + 1
        self.journal.append(LogEntry(lsn, 1, 0, json.dumps([number, key]).encode()))
        self.last_lsn = lsn
        self.pending.append((lsn, number, key))

    def run_epoch(self) -> None:
        """Takes some of the log, and commits what it changes. Attempts at its tasks may fail, and are done again."""
        taken = self.pending[: self.chance.randrange(len(self.pending) + 1)]
        position = sum(len([key for key in rows if key[:4] == H.to_bytes(4)]) for rows in self.shards)
        shards = len(self.shards)
        changes: list[Rows] = [{} for _ in range(shards)]
        for _, number, key in taken:
            position += 1
            changes[shard_of(T, key, shards)][stored_key(T, key)] = value_of(number)
            changes[shard_of(H, number, shards)][stored_key(H, number)] = json.dumps([position, key]).encode()
        epoch = self.epoch + self.chance.randrange(1, 4)
        found = []
        for shard, rows in enumerate(changes):
            if rows:
                while self.chance.random() < 0.2:  # an attempt whose report is lost
                    self.deltas.put(epoch, 0, shard, list(batches(rows)))
                found.append(self.deltas.put(epoch, 0, shard, list(batches(rows))))
        lsn = taken[-1][0] if taken else self.lsn
        self.journal.append(MetaEntry({"committed": b"%d" % epoch}, EpochCommit(epoch, lsn, shards, tuple(found))))
        self.epoch, self.lsn, self.pending = epoch, lsn, self.pending[len(taken) :]
        for rows, changed in zip(self.shards, changes, strict=True):
            take(rows, changed)

    def compact(self) -> None:
        """What the compactor does."""
        self.is_compacting = True
        try:
            self._compact()
        finally:
            self.is_compacting = False

    def _compact(self) -> None:
        seen: list[Version] = []
        self.journal.look_at(lambda version: seen.append(decode_version("m/", encode_version(version))))
        for due in due_merges(seen[0], self.thresholds):
            self.journal.append(merge(self.objects, due))
        epoch, shards = self.epoch, self.shards  # pinned: the server may lay its rows out anew meanwhile
        tables = [
            TableSnapshot(table, shard, epoch, put_parts(self.objects, table, shard, epoch, rows_of(rows, table), 200))
            for table in sorted(due_tables(seen[0], self.thresholds))
            if self.chance.random() < 0.6
            for shard, rows in enumerate(shards)
        ]
        if tables:
            self.journal.append(SnapshotEntry(tuple(tables)))
        if self.chance.random() < 0.5:
            seen.clear()
            self.journal.look_at(lambda version: seen.append(decode_version("m/", encode_version(version))))
            put_own(self.objects, version_name(seen[0].slot), encode_version(seen[0]))

    def rescale(self) -> None:
        """Lays the rows out on another number of shards, or on as many again."""
        shards, epoch = self.chance.randrange(1, MOST_SHARDS + 1), self.epoch + 1
        rows: list[Rows] = [{} for _ in range(shards)]
        for key, value in (found for shard in self.shards for found in shard.items()):
            rows[shard_of(int.from_bytes(key[:4]), int.from_bytes(key[6:]), shards)][key] = value
        tables = [
            TableSnapshot(table, shard, epoch, put_parts(self.objects, table, shard, epoch, rows_of(part, table), 200))
            for shard, part in enumerate(rows)
            for table in (T, H)
        ]
        layout = Layout(epoch, self.lsn, shards, tuple(each for each in tables if each.parts))
        self.journal.append(MetaEntry({"committed": b"%d" % epoch}, layout))
        self.epoch, self.shards = epoch, rows

    def vacuum(self) -> None:
        """Deletes whatever is not needed, however young: no task of this server is under way."""
        if not self.may_delete:
            return
        seen: list[Version] = []
        self.journal.look_at(lambda version: seen.append(decode_version("m/", encode_version(version))))
        look = lambda: refuse_later_term(self.objects, self.journal.term)  # noqa: E731
        vacuum(self.objects, seen[0], 0.0, look, Ages(least=-1.0, retention=-1.0))

    def end(self) -> None:
        self.is_dead = True
        self.journal.close()


def rows_of(shard: Rows, table: int) -> Iterator[WriteBatch]:
    """A table's rows on a shard, in the order of their keys."""
    rows = {key: value for key, value in shard.items() if key[:4] == table.to_bytes(4)}
    for key in sorted(rows):  # a batch for each row: parts of several
        yield WriteBatch(pa.array([key], pa.binary()), pa.array([rows[key]], pa.binary()))


def value_of(number: int) -> bytes | None:
    """What a statement writes under its key; None deletes it."""
    return None if number % 3 == 0 else str(number).encode()


def take(rows: Rows, changes: Rows) -> None:
    """Applies changes to rows."""
    rows.update(changes)
    for key in [key for key, value in changes.items() if value is None]:
        del rows[key]


def batches(rows: Rows) -> Iterator[WriteBatch]:
    for table in (T, H):
        keys = sorted(key for key in rows if key[:4] == table.to_bytes(4))
        if keys:
            yield WriteBatch(pa.array(keys, pa.binary()), pa.array([rows[key] for key in keys], pa.binary()))


def rebuilt(objects: MemoryObjects, version: Version) -> list[Rows]:
    """The shards of a version, as `meta.shared_state.renewal.load_shard` loads them."""
    shards: list[Rows] = []
    for shard in range(version.shards or SHARDS):
        rows: Rows = {}
        for table in version.snapshots_of(shard):
            for part in table.parts:
                for batch in read_batches(objects, part.name):
                    take(rows, dict(zip(batch.keys.to_pylist(), batch.values.to_pylist(), strict=True)))
        for delta in version.deltas_after(0, shard):
            counted = version.counted_tables(delta)
            for batch in read_delta(objects, delta):
                if table_id_of(batch) in counted:
                    take(rows, dict(zip(batch.keys.to_pylist(), batch.values.to_pylist(), strict=True)))
        shards.append(rows)
    return shards


def caught_up(objects: MemoryObjects, version: Version, cache: Cache) -> list[Rows]:
    """A cache with what was committed since."""
    shards = [dict(rows) for rows in cache.shards]
    for shard, rows in enumerate(shards):
        for delta in version.deltas_after(cache.epoch, shard):
            for batch in read_delta(objects, delta):
                for key, value in zip(batch.keys.to_pylist(), batch.values.to_pylist(), strict=True):
                    rows.pop(key, None) if value is None else rows.update({key: value})
    return shards


class History:
    """What a seed makes happen. `run` raises AssertionError if a promise is broken."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.objects = MemoryObjects(
            random.Random(seed + 1), failures=self.chance.choice((0, 30)), lost_puts=self.chance.choice((0, 100, 300))
        )
        self.objects.before = self._before
        self.patience = self.chance.choice((AS_AFTER_DAYS, PROMPT))
        self.known = Known()
        self.servers: list[SimulatedServer] = []
        self.next = 1
        self.events = 0
        self._strikes: Callable[[], None] | None = None
        self._left = -1  # requests until it strikes
        self._rescaled: SimulatedServer | None = None  # the strike is that it lays its rows out anew

    def run(self, actions: int = 40) -> None:
        try:
            for _ in range(actions):
                self._act()
            self._check()
        finally:
            for server in self.servers:
                server.end()

    def _act(self) -> None:
        alive = [server for server in self.servers if not server.is_dead]
        if not alive or self.chance.random() < 0.04:
            self._guarded(None, self._start)
            return
        # The newest one leads; the others do not know that they do not any more.
        server = alive[-1] if self.chance.random() < 0.8 else self.chance.choice(alive)
        if self.chance.random() < 0.12:
            self._arm(server)
        pick = self.chance.random()
        if pick < 0.5:
            self._guarded(server, lambda: self._write(server))
        elif pick < 0.8:
            self._guarded(server, server.run_epoch)
        elif pick < 0.91:
            self._guarded(server, server.compact)
        elif pick < 0.94:
            self._guarded(server, server.rescale)
        else:
            self._guarded(server, server.vacuum)
        self._left = -1

    def _start(self) -> None:
        self.servers.append(SimulatedServer(self.objects, self.chance, self.patience, self._caches()))

    def _caches(self) -> list[Cache]:
        return [Cache(server.epoch, server.shards) for server in self.servers if server.epoch]

    def _write(self, server: SimulatedServer) -> None:
        number, key = self.next, self.chance.randrange(KEYS)
        self.next += 1
        self.known.keys[number] = key
        self.known.before[number] = len(self.known.answered)
        self.known.unknown.add(number)
        server.write(number, key)
        self.known.unknown.discard(number)
        self.known.answered.append(number)

    def _guarded(self, server: SimulatedServer | None, act: Callable[[], None]) -> None:
        """Does it. Who dies of it, or learns that it does not lead or has no storage, is gone."""
        try:
            act()
        except (Crash, CannotConnectNow, IoError):
            self.events += 1
            if server is not None and not server.is_dead:
                server.end()

    def _arm(self, server: SimulatedServer) -> None:
        """At one of the next requests, the process dies, or another server does something in between."""
        self._left = self.chance.randrange(8)

        def die() -> None:
            raise Crash

        def be_overtaken() -> None:
            self._guarded(None, self._start)
            other = self.servers[-1]
            for _ in range(self.chance.randrange(10)):
                if not other.is_dead and other is not server:
                    steps = (other.run_epoch, other.compact, other.rescale, other.vacuum, lambda: self._write(other))
                    self._guarded(other, self.chance.choice(steps))

        # The loop's thread may lay the rows out anew while the compactor's writes objects, but not while it appends.
        self._rescaled = server if self.chance.random() < 0.3 else None
        self._strikes = self.chance.choice((die, be_overtaken)) if self._rescaled is None else server.rescale

    def _before(self, operation: str, name: str) -> None:
        if self._left < 0 or (self._rescaled is not None and not (self._rescaled.is_compacting and name[0] in "sd")):
            return
        self._left -= 1
        if self._left < 0 and self._strikes is not None:
            self.events += 1
            strike, self._strikes = self._strikes, None
            strike()

    def _check(self) -> None:
        """A new server finds every answered statement once, in order, and nothing that nobody wrote."""
        self.objects.before = lambda operation, name: None
        self.objects.be_reliable()
        live = [server for server in self.servers if not server.is_dead]
        before = read_version(self.objects)
        server = SimulatedServer(self.objects, self.chance, self.patience, self._caches())
        self.servers.append(server)
        if live and live[-1].journal.term == before.term:  # it led to the end: what it has is what is there
            assert live[-1].shards == server.shards
        while server.pending:
            server.run_epoch()
        rows = {key: value for shard in server.shards for key, value in shard.items()}
        counted = {
            int.from_bytes(key[6:]): tuple(json.loads(value))
            for key, value in rows.items()
            if key[:4] == H.to_bytes(4) and value is not None
        }
        answered = self.known.answered
        assert set(answered) <= counted.keys(), f"lost: {sorted(set(answered) - counted.keys())}"
        assert counted.keys() <= {*answered, *self.known.unknown}, "invented"
        assert sorted(position for position, _ in counted.values()) == list(range(1, len(counted) + 1)), "twice"
        order = sorted(counted, key=lambda number: counted[number][0])
        for number in order:
            for earlier in answered[: self.known.before[number]]:
                assert counted[earlier][0] < counted[number][0], f"{number} counts before {earlier}"
        last: dict[int, int] = {}
        for number in order:
            assert counted[number][1] == self.known.keys[number]
            last[self.known.keys[number]] = number
        assert {key: value for key, value in rows.items() if key[:4] == T.to_bytes(4)} == {
            stored_key(T, key): value_of(number) for key, number in last.items() if value_of(number) is not None
        }
        assert rebuilt(self.objects, read_version(self.objects)) == server.shards
