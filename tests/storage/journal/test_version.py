from __future__ import annotations

import pyarrow as pa
import pytest

from risingpy.storage.engine.mem_table import WriteBatch
from risingpy.storage.journal.delta import ShardDeltas, decode_batches
from risingpy.storage.journal.entries import (
    Delta,
    Entry,
    EpochCommit,
    Layout,
    LogEntry,
    MergeEntry,
    MetaEntry,
    SnapshotEntry,
    SnapshotPart,
    TableSnapshot,
)
from risingpy.storage.journal.reading import read_delta, read_version
from risingpy.storage.journal.record import DamagedState, JournalRecord, encode_record, record_name
from risingpy.storage.journal.version import Version, decode_version, encode_version, version_name
from tests.storage.journal.memory_objects import MemoryObjects


def _delta(epoch: int, *tables: int, shard: int = 0) -> Delta:
    return Delta(f"d/{epoch}-0.x-{shard}", epoch, shard, 1, dict.fromkeys(tables, 1))


def _commit(epoch: int, lsn: int, *deltas: Delta) -> MetaEntry:
    return MetaEntry({"committed": str(epoch).encode()}, EpochCommit(epoch, lsn, 2, deltas))


def _after(*entries: Entry) -> Version:
    version = Version()
    for slot, entry in enumerate(entries):
        version.apply(JournalRecord(slot, 1, "n", (entry,)))
    return version


def test_an_epoch_takes_its_part_of_the_log() -> None:
    version = _after(LogEntry(1, 3, 0, b""), LogEntry(4, 2, 0, b"", {"ab": 2}), _commit(10, 3))
    assert (version.epoch, version.lsn, version.last_lsn, version.shards) == (10, 3, 5, 2)
    assert [(place.slot, place.first_lsn, place.last_lsn) for place in version.logs] == [(1, 4, 5)]
    assert set(version.needed_objects()) == {record_name(1), "p/ab-000000", "p/ab-000001"}


def test_meta_keys_come_and_go() -> None:
    version = _after(MetaEntry({"a": b"1", "b": b"2"}), MetaEntry({"a": None, "c": b"3"}))
    assert version.meta == {"b": b"2", "c": b"3"}


def test_a_slot_or_a_term_that_does_not_follow_is_refused() -> None:
    version = _after(MetaEntry({}))
    for record in (JournalRecord(2, 1, "n", ()), JournalRecord(0, 1, "n", ()), JournalRecord(1, 0, "n", ())):
        with pytest.raises(DamagedState):
            version.apply(record)


def test_a_snapshot_replaces_only_deltas_that_nobody_else_needs() -> None:
    version = _after(_commit(1, 0, _delta(1, 7, 8)), _commit(2, 0, _delta(2, 7)), _commit(3, 0, _delta(3, 7)))
    seven = TableSnapshot(7, 0, 2, (SnapshotPart("s/7/2", 5, 1),))
    version.apply(JournalRecord(3, 1, "n", (SnapshotEntry((seven,)),)))
    assert [delta.epoch for delta in version.deltas] == [1, 3]
    assert version.counted_tables(version.deltas[0]) == {8}
    assert version.complete_after == 2  # the state of epoch 1 lacks what the snapshot has of epoch 2
    assert "s/7/2" in set(version.needed_objects())


def test_another_layout_replaces_everything() -> None:
    """What is of an earlier one is not in it, though its shard may have the same number."""
    before = (LogEntry(1, 3, 0, b""), LogEntry(4, 2, 0, b""), _commit(1, 3, _delta(1, 7, shard=1)))
    version = _after(*before, SnapshotEntry((TableSnapshot(7, 1, 1, (SnapshotPart("s/7/1", 5, 1),)),)))
    part = SnapshotPart("s/7/2", 5, 1)
    layout = Layout(2, 3, 3, (TableSnapshot(7, 0, 2, (part,)), TableSnapshot(7, 2, 2, (part,))))
    version.apply(JournalRecord(4, 1, "n", (MetaEntry({"counters": b"3"}, layout),)))
    for each in (version, decode_version("m/4", encode_version(version))):
        assert (each.epoch, each.lsn, each.shards, each.complete_after, each.meta) == (
            *(2, 3, 3, 2), {"committed": b"1", "counters": b"3"},
        )  # fmt: skip
        assert each.deltas == []
        assert [table.shard for table in each.tables.values()] == [0, 2]
        assert [place.first_lsn for place in each.logs] == [4]
        assert set(each.needed_objects()) == {record_name(1), "s/7/2"}
    late = TableSnapshot(7, 1, 1, (SnapshotPart("s/7/1b", 5, 1),))
    version.apply(JournalRecord(5, 1, "n", (SnapshotEntry((late,)), MergeEntry(_delta(1, 7, shard=1), ("d/a", "d/b")))))
    assert version.deltas == [] and [table.shard for table in version.tables.values()] == [0, 2]
    version.apply(JournalRecord(6, 1, "n", (_commit(3, 5, _delta(3, 7, shard=2)),)))
    assert version.counted_tables(version.deltas[0]) == {7}


def test_a_table_without_rows_stays_without_them() -> None:
    """Its rows are in a delta that another table needs, and the delta that deletes them is gone."""
    version = _after(_commit(1, 0, _delta(1, 7, 8)), _commit(2, 0, _delta(2, 7)))
    version.apply(JournalRecord(2, 1, "n", (SnapshotEntry((TableSnapshot(7, 0, 2, ()),)),)))
    assert version.counted_tables(version.deltas[0]) == {8}
    again = decode_version("m/2", encode_version(version))
    assert again.counted_tables(again.deltas[0]) == {8}
    version.apply(JournalRecord(3, 1, "n", (SnapshotEntry((TableSnapshot(8, 0, 2, (SnapshotPart("s/8/2", 5, 1),)),)),)))
    assert version.deltas == []
    assert [table.table_id for table in version.snapshots_of(0)] == [8]


def test_a_merge_takes_the_place_of_what_it_has() -> None:
    version = _after(*(_commit(epoch, 0, _delta(epoch, 7), _delta(epoch, 7, shard=1)) for epoch in (1, 2, 3)))
    merged = Delta("d/merged", 2, 0, 2, {7: 2})
    version.apply(JournalRecord(3, 1, "n", (MergeEntry(merged, ("d/1-0.x-0", "d/2-0.x-0")),)))
    assert [delta.name for delta in version.deltas_after(0, 0)] == ["d/merged", "d/3-0.x-0"]
    assert [delta.name for delta in version.deltas_after(1, 0)] == ["d/merged", "d/3-0.x-0"]
    assert [delta.name for delta in version.deltas_after(2, 0)] == ["d/3-0.x-0"]
    assert len(version.deltas_after(0, 1)) == 3
    assert version.complete_after == 0


def test_a_version_is_read_as_it_was_written() -> None:
    version = _after(
        LogEntry(1, 3, 0, b"", {"ab": 2}), MetaEntry({"a": b"\0", "b": b""}), _commit(1, 1, _delta(1, 7)),
        SnapshotEntry((TableSnapshot(9, 1, 1, (SnapshotPart("s/9/1", 5, 1),)),)),
    )  # fmt: skip
    again = decode_version("m/3", encode_version(version))
    assert vars(again) == vars(version)
    data = encode_version(version)
    with pytest.raises(DamagedState):
        decode_version("m/3", data[:-1])


def test_a_version_is_found_from_any_start() -> None:
    objects, version = MemoryObjects(), Version()
    entries = [_commit(epoch, 0, _delta(epoch, 7)) for epoch in range(1, 9)]
    for slot, entry in enumerate(entries):
        record = JournalRecord(slot, 1, "n", (entry,))
        objects.put(record_name(slot), encode_record(record))
        version.apply(record)
        if slot in (2, 5):
            objects.put(version_name(slot), encode_version(version))
    assert vars(read_version(objects)) == vars(version)
    for name in [record_name(slot) for slot in range(5)]:
        objects.delete(name)
    assert vars(read_version(objects)) == vars(version)
    assert read_version(objects, up_to=6).epoch == 7
    assert read_version(objects, up_to=5).epoch == 6
    objects.delete(record_name(6))
    with pytest.raises(DamagedState, match="after slot 5"):
        read_version(objects)


def test_large_deltas_are_objects_and_small_ones_lie_in_the_record() -> None:
    objects = MemoryObjects()
    deltas = ShardDeltas(objects)
    small = [
        WriteBatch(pa.array([b"\0\0\0\7a"]), pa.array([b"1"])),
        WriteBatch(pa.array([b"\0\0\0\x08b"]), pa.nulls(1, pa.binary())),
    ]
    keys = [b"\0\0\0\7" + number.to_bytes(8) + number.to_bytes(8, "little") for number in range(20_000)]
    large = [WriteBatch(pa.array(keys), pa.array(keys))]
    found = [deltas.put(5, 0, 1, small), deltas.put(5, 0, 1, large)]
    assert [delta.inline is None for delta in found] == [False, True]
    assert list(objects.stored) == [found[1].name]
    assert found[0].tables.keys() == {7, 8}
    objects.put(record_name(0), encode_record(JournalRecord(0, 1, "n", (_commit(5, 0, *found),))))
    places = read_version(objects).deltas
    for place, written in zip(places, (small, large), strict=True):
        read = read_delta(objects, place)
        assert [(b.keys.to_pylist(), b.values.to_pylist()) for b in read] == [
            (b.keys.to_pylist(), b.values.to_pylist()) for b in written
        ]
    with pytest.raises(DamagedState, match="missing"):
        read_delta(MemoryObjects(), places[1])
    with pytest.raises(DamagedState, match="damaged"):
        decode_batches("d/1", b"nothing")
