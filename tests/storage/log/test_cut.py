"""A copy of a log is ended at a record, in whatever file that is, and goes on from there."""

from __future__ import annotations

import shutil
from pathlib import Path

from risingpy.storage.log.cut import cut_log
from risingpy.storage.log.segment import segment_paths
from risingpy.storage.log.write_ahead_log import WriteAheadLog
from tests.storage.log.test_write_ahead_log import SMALL, numbers, record

GROUPS = 9


def test_a_copy_ends_at_each_group(tmp_path: Path) -> None:
    log = WriteAheadLog(tmp_path / "log", segment_bytes=SMALL)
    ends = [log.append([record(1, number, text="x" * SMALL), record(1, -number)]) for number in range(GROUPS // 2)]
    ends += [log.append([record(1, number), record(1, -number)]) for number in range(GROUPS // 2, GROUPS)]
    assert len(segment_paths(tmp_path / "log")) > 2
    expected = numbers(log, 0, ends[-1])
    for end in (0, *ends):
        copy = tmp_path / f"copy{end}"
        shutil.copytree(tmp_path / "log", copy)
        cut_log(copy, end)
        cut = WriteAheadLog(copy, segment_bytes=SMALL)
        assert cut.last_lsn == end
        assert numbers(cut, 0, end) == expected[:end]
        assert cut.append([record(1, 1000)]) == end + 1
        cut.close()
        assert numbers(WriteAheadLog(copy), 0, end + 1) == [*expected[:end], 1000]
    log.close()
