"""The write-ahead log: atomic groups, one fsync for many callers, torn tails, damage, other processes."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pyarrow as pa
import pytest

from risingpy.errors import IoError
from risingpy.storage.log.segment import ALIGNMENT, segment_paths
from risingpy.storage.log.spill import spill_paths
from risingpy.storage.log.write_ahead_log import DamagedLog, LogReader, LogRecord, WriteAheadLog

SMALL = 1 << 16


def record(table_id: int, *numbers: int, text: str = "x") -> LogRecord:
    return LogRecord.of(table_id, 7, chunk(*numbers, text=text))


def chunk(*numbers: int, text: str = "x") -> pa.Table:
    n = len(numbers)
    return pa.table({"op": pa.array([1] * n, pa.int8()), "c0": pa.array(numbers, pa.int64()), "c1": [text] * n})


def numbers(log: WriteAheadLog | LogReader, after: int, up_to: int, tables: list[int] | None = None) -> list[int]:
    return [n for r in log.read(after, up_to, tables) for n in r.table()["c0"].to_pylist()]


def test_records_come_back_in_order_with_what_they_were_given(tmp_path: Path) -> None:
    log = WriteAheadLog(tmp_path)
    assert log.last_lsn == 0
    assert log.append([record(1, 10, 11), record(2, 20)]) == 2
    assert log.append([record(1, 12)]) == 3
    records = list(log.read(0, 3))
    assert [(r.lsn, r.table_id, r.table_version) for r in records] == [(1, 1, 7), (2, 2, 7), (3, 1, 7)]
    assert records[0].table() == chunk(10, 11)
    assert numbers(log, 1, 2) == [20]
    assert numbers(log, 0, 3, [1]) == [10, 11, 12]
    log.close()
    assert WriteAheadLog(tmp_path).last_lsn == 3


def test_every_type_and_an_empty_chunk_survive(tmp_path: Path) -> None:
    table = pa.table(
        {
            "op": pa.array([1, -1], pa.int8()),
            "c0": pa.array([None, True]),
            "c1": pa.array([None, b"\0\xff"], pa.binary()),
            "c2": pa.array([None, pa.MonthDayNano([1, 2, 3])], pa.month_day_nano_interval()),
            "c3": pa.array([None, 12345], pa.decimal128(38, 16)),
            "c4": pa.array([None, 1], pa.timestamp("us", "UTC")),
            "c5": pa.array([None, 1], pa.time64("us")),
        }
    )
    log = WriteAheadLog(tmp_path)
    log.append([LogRecord.of(1, 1, table), LogRecord.of(1, 1, table.slice(0, 0)), LogRecord.of(1, 1, table.slice(1))])
    assert [r.table() for r in log.read(0, 3)] == [table, table.slice(0, 0), table.slice(1)]


def test_payloads_are_not_copied_and_outlive_their_file(tmp_path: Path) -> None:
    log = WriteAheadLog(tmp_path, segment_bytes=SMALL)
    log.append([record(1, *range(2000))])
    before = pa.total_allocated_bytes()
    tables = [r.table() for r in log.read(0, 1)]
    assert pa.total_allocated_bytes() - before < 1000
    log.append([record(1, *range(6000))])
    log.truncate(1)
    assert tables[0]["c0"].to_pylist() == list(range(2000))


def test_concurrent_appends_share_an_fsync(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = WriteAheadLog(tmp_path)
    syncs = []
    slow = threading.Event()

    def fdatasync(descriptor: int) -> None:
        syncs.append(descriptor)
        slow.wait(0.002)

    monkeypatch.setattr(os, "fdatasync", fdatasync)
    lsns: list[int] = []

    def write(thread: int) -> None:
        for i in range(20):
            lsns.append(log.append([record(thread, thread * 100 + i)]))

    threads = [threading.Thread(target=write, args=[i]) for i in range(32)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(lsns) == list(range(1, 641))
    assert len(syncs) < 100  # 640 with one each
    for i in range(32):
        assert numbers(log, 0, 640, [i]) == [i * 100 + k for k in range(20)]


def test_groups_of_many_threads_stay_together(tmp_path: Path) -> None:
    log = WriteAheadLog(tmp_path, segment_bytes=SMALL)

    def write(thread: int) -> None:
        for _ in range(10):
            log.append([record(thread, 1), record(thread, 2), record(thread, 3)])

    threads = [threading.Thread(target=write, args=[i]) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    records = list(log.read(0, log.last_lsn))
    for first in range(0, len(records), 3):
        assert len({r.table_id for r in records[first : first + 3]}) == 1
    assert len(segment_paths(tmp_path)) > 1


def tail_of(log: WriteAheadLog) -> int:
    assert log._tail is not None
    return log._tail.offset


@pytest.mark.parametrize("how", ["zeros", "short", "noise"])
def test_a_tail_torn_at_any_byte_is_cut(tmp_path: Path, how: str) -> None:
    log = WriteAheadLog(tmp_path, segment_bytes=SMALL)
    log.append([record(1, 1)])
    start = tail_of(log)
    log.append([record(1, 2), record(2, 3)])
    end = tail_of(log)
    log.close()
    path = next(iter(segment_paths(tmp_path).values()))
    whole = path.read_bytes()
    # The padding behind the last payload may be lost: nothing is in it.
    data_end = len(whole[:end].rstrip(b"\0"))
    for cut in range(start, data_end):
        rest = {"zeros": bytes(SMALL - cut), "short": b"", "noise": os.urandom(end - cut) + bytes(SMALL - end)}[how]
        path.write_bytes(whole[:cut] + rest)
        reopened = WriteAheadLog(tmp_path, segment_bytes=SMALL)
        assert reopened.last_lsn == 1, cut
        assert reopened.append([record(1, 9)]) == 2
        assert numbers(reopened, 0, 2) == [1, 9]
        reopened.close()
        assert WriteAheadLog(tmp_path, segment_bytes=SMALL).last_lsn == 2


def test_damage_before_the_tail_is_refused_at_every_byte(tmp_path: Path) -> None:
    log = WriteAheadLog(tmp_path, segment_bytes=SMALL)
    log.append([record(1, 1)])
    end = tail_of(log)
    log.append([record(1, 2)])
    log.close()
    path = next(iter(segment_paths(tmp_path).values()))
    whole = path.read_bytes()
    harmless = 0
    for place in range(end):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x40]) + whole[place + 1 :])
        try:
            log = WriteAheadLog(tmp_path, segment_bytes=SMALL)
        except DamagedLog:
            continue
        assert numbers(log, 0, 2) == [1, 2], place  # only padding may change unseen
        harmless += 1
        log.close()
        path.write_bytes(whole)
    assert harmless < 3 * ALIGNMENT


def test_damage_is_seen_by_a_reader_too(tmp_path: Path) -> None:
    log = WriteAheadLog(tmp_path)
    log.append([record(1, 123456789)])
    path = next(iter(segment_paths(tmp_path).values()))
    data = path.read_bytes()
    place = data.index((123456789).to_bytes(8, "little"))
    with path.open("r+b") as file:
        file.seek(place)
        file.write(b"\0")
    with pytest.raises(DamagedLog):
        list(LogReader(tmp_path).read(0, 1))


def test_a_missing_file_in_the_middle_is_refused(tmp_path: Path) -> None:
    log = WriteAheadLog(tmp_path, segment_bytes=SMALL)
    for i in range(5):
        log.append([record(1, *range(i, i + 4000))])
    log.close()
    paths = list(segment_paths(tmp_path).values())
    assert len(paths) > 2
    paths[1].unlink()
    with pytest.raises(DamagedLog):
        WriteAheadLog(tmp_path, segment_bytes=SMALL)


def test_rows_that_look_like_a_block_are_not_taken_for_one(tmp_path: Path) -> None:
    other = WriteAheadLog(tmp_path / "other", segment_bytes=SMALL)
    other.append([record(1, 1)])
    other.append([record(1, 2)])
    stolen = next(iter(segment_paths(tmp_path / "other").values())).read_bytes()[ALIGNMENT : tail_of(other)]
    log = WriteAheadLog(tmp_path / "log", segment_bytes=SMALL)
    start = tail_of(log)
    for shift in range(8):  # one of them meets the alignment
        rows = pa.table({"c1": pa.array([b"." * 8 * shift + stolen], pa.binary())})
        log.append([LogRecord.of(1, 1, rows)])
        end = tail_of(log)
        log.close()
        path = next(iter(segment_paths(tmp_path / "log").values()))
        data = bytearray(path.read_bytes())
        data[end - 65] ^= 1
        data[start] ^= 1  # tear the last block: what is inside must not count as a later one
        path.write_bytes(data)
        log = WriteAheadLog(tmp_path / "log", segment_bytes=SMALL)
        assert log.last_lsn == 0


def test_truncation_gives_back_files_and_keeps_counting(tmp_path: Path) -> None:
    log = WriteAheadLog(tmp_path, segment_bytes=SMALL)
    for _ in range(6):
        log.append([record(1, *range(4000))])
    assert len(segment_paths(tmp_path)) == 6
    log.truncate(3)
    assert list(segment_paths(tmp_path)) == [4, 5, 6]
    assert len(list(log.read(3, 6))) == 3
    with pytest.raises(DamagedLog):
        list(log.read(2, 6))
    log.truncate(6)
    assert list(segment_paths(tmp_path)) == [6]
    log.close()
    log = WriteAheadLog(tmp_path, segment_bytes=SMALL)
    assert log.append([record(1, 1)]) == 7


def test_a_group_larger_than_a_file(tmp_path: Path) -> None:
    log = WriteAheadLog(tmp_path, segment_bytes=SMALL)
    log.append([record(1, *range(100_000))])
    log.append([record(1, 5)])
    assert numbers(log, 0, 2) == [*range(100_000), 5]
    log.close()
    assert WriteAheadLog(tmp_path, segment_bytes=SMALL).last_lsn == 2


def test_a_full_disk_refuses_the_group_and_the_log_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = WriteAheadLog(tmp_path, segment_bytes=SMALL)
    log.append([record(1, 1)])
    with monkeypatch.context() as patch:
        patch.setattr(os, "posix_fallocate", raise_no_space)
        with pytest.raises(IoError):
            log.append([record(1, *range(100_000))])
    assert log.append([record(1, 2)]) == 2
    assert log.append([record(1, *range(100_000))]) == 3
    assert not list(tmp_path.glob("*.new"))


def test_a_failed_fsync_is_never_believed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = WriteAheadLog(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(os, "fdatasync", raise_no_space)
        with pytest.raises(IoError):
            log.append([record(1, 1)])
    with pytest.raises(IoError):
        log.append([record(1, 2)])
    assert log.last_lsn == 0


def raise_no_space(*_: object) -> None:
    raise OSError(28, "No space left on device")


def test_a_closed_log_refuses(tmp_path: Path) -> None:
    log = WriteAheadLog(tmp_path)
    log.close()
    with pytest.raises(IoError):
        log.append([record(1, 1)])


READER = """
import sys
from pathlib import Path
from risingpy.storage.log.write_ahead_log import LogReader
reader = LogReader(Path(sys.argv[1]))
after = 0
for line in sys.stdin:
    up_to = int(line)
    print(sum(n for r in reader.read(after, up_to) for n in r.table()["c0"].to_pylist()), flush=True)
    after = up_to
"""


def test_another_process_reads_while_we_append(tmp_path: Path) -> None:
    log = WriteAheadLog(tmp_path, segment_bytes=SMALL)
    reader = subprocess.Popen(
        [sys.executable, "-c", READER, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert reader.stdin is not None and reader.stdout is not None
    for i in range(60):
        lsn = log.append([record(1, *range(i * 50)), record(2, i)])
        reader.stdin.write(f"{lsn}\n")
        reader.stdin.flush()
        assert int(reader.stdout.readline()) == sum(range(i * 50)) + i
        if i % 10 == 0:
            log.truncate(lsn)
    reader.stdin.close()
    assert reader.wait() == 0


def spilled(log: WriteAheadLog, *pieces: tuple[int, ...]) -> LogRecord:
    """A record of rows in a file of their own."""
    spill = log.spill()
    for piece in pieces:
        spill.append(record(1, *piece))
    rows = spill.finish()
    assert rows["c0"].to_pylist() == [n for piece in pieces for n in piece]
    return LogRecord.of_spill(3, 9, spill.name)


def test_spilled_rows_are_read_as_records_of_their_group(tmp_path: Path) -> None:
    log = WriteAheadLog(tmp_path)
    log.append([record(1, 1)])
    assert log.append([spilled(log, (10, 11), (12,)), record(2, 20)]) == 3
    for reader in (log, LogReader(tmp_path)):
        assert [(r.lsn, r.table_id, r.table_version) for r in reader.read(1, 3)] == [(2, 3, 9), (2, 3, 9), (3, 2, 7)]
        assert numbers(reader, 0, 3) == [1, 10, 11, 12, 20]
        assert numbers(reader, 0, 3, [2]) == [20]
    size = log.size_bytes
    log.close()
    again = WriteAheadLog(tmp_path)
    assert numbers(again, 1, 2) == [10, 11, 12]
    assert again.size_bytes == size
    again.truncate(1)
    assert len(spill_paths(tmp_path)) == 1
    again.truncate(2)
    assert spill_paths(tmp_path) == []
    again.close()
    assert WriteAheadLog(tmp_path).last_lsn == 3


def test_a_spill_that_no_record_names_goes_at_the_next_start(tmp_path: Path) -> None:
    log = WriteAheadLog(tmp_path)
    log.append([spilled(log, (1,))])
    spilled(log, (2,))
    log.spill().append(record(1, 3))
    assert len(spill_paths(tmp_path)) == 3
    log.close()
    again = WriteAheadLog(tmp_path)
    assert len(spill_paths(tmp_path)) == 1
    assert numbers(again, 0, 1) == [1]


def test_a_damaged_spill_is_not_read(tmp_path: Path) -> None:
    log = WriteAheadLog(tmp_path)
    log.append([spilled(log, (1, 2, 3))])
    (path,) = spill_paths(tmp_path)
    data = bytearray(path.read_bytes())
    data[-64] ^= 1
    path.write_bytes(data)
    with pytest.raises(DamagedLog):
        numbers(LogReader(tmp_path), 0, 1)


def test_a_discarded_spill_leaves_nothing(tmp_path: Path) -> None:
    log = WriteAheadLog(tmp_path)
    spill = log.spill()
    spill.append(record(1, 1))
    spill.discard()
    assert spill_paths(tmp_path) == []


def test_offsets_of_sources_stand_beside_the_rows(tmp_path: Path) -> None:
    """They are part of their group, and readers of rows do not see them."""
    log = WriteAheadLog(tmp_path)
    log.append([record(1, 10), LogRecord.of_offset(9, "0/1")])
    log.append([LogRecord.of_offset(8, "a"), LogRecord.of_offset(9, "0/2")])
    assert log.append([record(1, 11)]) == 5
    reader = LogReader(tmp_path)
    assert numbers(reader, 0, 5) == [10, 11]
    assert reader.offsets(0, 2) == {9: "0/1"}
    assert reader.offsets(0, 5) == {8: "a", 9: "0/2"} and reader.offsets(4, 5) == {}
    log.close()
    assert WriteAheadLog(tmp_path).last_lsn == 5
