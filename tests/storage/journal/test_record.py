from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from risingpy.storage.journal.entries import (
    Delta,
    Entry,
    EpochCommit,
    FenceEntry,
    Layout,
    LogEntry,
    MergeEntry,
    MetaEntry,
    SnapshotEntry,
    SnapshotPart,
    TableSnapshot,
)
from risingpy.storage.journal.record import DamagedState, JournalRecord, decode_record, encode_record, record_name

DELTAS = st.builds(
    lambda inline, epoch, shard, tables: Delta("d/1", epoch, shard, len(inline or b""), tables, inline),
    st.none() | st.binary(max_size=9),
    st.integers(0, 2**63),
    st.integers(0, 255),
    st.dictionaries(st.integers(0, 2**32), st.integers(0, 99), max_size=2),
)
PARTS = st.builds(SnapshotPart, st.just("s/1"), st.integers(0, 9), st.integers(0, 9))
SNAPSHOTS = st.builds(TableSnapshot, st.integers(0), st.integers(0, 9), st.integers(1), st.tuples(PARTS))
ENTRIES: st.SearchStrategy[Entry] = st.one_of(
    st.builds(
        LogEntry,
        st.integers(1, 2**60),
        st.integers(1, 9),
        st.integers(0, 2**32 - 1),
        st.binary(max_size=9),
        st.dictionaries(st.text("abc", min_size=1), st.integers(0, 3), max_size=2),
    ),
    st.builds(
        MetaEntry,
        st.dictionaries(st.text(min_size=1, max_size=5), st.none() | st.binary(max_size=9), max_size=3),
        st.none()
        | st.builds(EpochCommit, st.integers(1), st.integers(0), st.integers(1, 256), st.tuples(DELTAS, DELTAS))
        | st.builds(Layout, st.integers(1), st.integers(0), st.integers(1, 256), st.tuples(SNAPSHOTS, SNAPSHOTS)),
    ),
    st.builds(FenceEntry, st.text()),
    st.builds(SnapshotEntry, st.tuples(SNAPSHOTS)),
    st.builds(MergeEntry, st.just(Delta("d/2", 5, 1, 3, {7: 3})), st.tuples(st.text(), st.text())),
)


@given(st.lists(ENTRIES, max_size=4), st.integers(0, 10**16 - 1), st.integers(0))
def test_a_record_is_read_as_it_was_written(entries: list[Entry], slot: int, term: int) -> None:
    record = JournalRecord(slot, term, "nonce", tuple(entries))
    assert decode_record(record_name(slot), encode_record(record)) == record


def test_a_damaged_record_is_refused() -> None:
    record = JournalRecord(3, 1, "n", (MetaEntry({"committed": b"{}", "gone": None}), FenceEntry("host:1")))
    data = encode_record(record)
    for position in range(len(data)):
        broken = bytearray(data)
        broken[position] ^= 0x41
        with pytest.raises(DamagedState, match=record_name(3)):
            decode_record(record_name(3), bytes(broken))
        with pytest.raises(DamagedState):
            decode_record(record_name(3), data[:position])


def test_a_large_log_block_is_compressed() -> None:
    entries = (LogEntry(1, 1, 7, b"row " * 50_000), LogEntry(2, 1, 7, b"x"), FenceEntry("host:1"))
    record = JournalRecord(0, 1, "n", entries)
    data = encode_record(record)
    assert len(data) < 10_000
    assert decode_record(record_name(0), data) == record


def test_a_record_under_another_name_is_refused() -> None:
    with pytest.raises(DamagedState, match="that of slot 3"):
        decode_record(record_name(4), encode_record(JournalRecord(3, 1, "n", ())))
