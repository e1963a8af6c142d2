"""Groups of rows that are durable, beside a change of the schema, before the log has them."""

from __future__ import annotations

from pathlib import Path

import pytest

from risingpy.storage.log.write_ahead_log import WriteAheadLog
from tests.storage.log.test_write_ahead_log import numbers, record, spilled


def test_a_spill_that_is_kept_is_there_for_the_group_that_comes_next(tmp_path: Path) -> None:
    log = WriteAheadLog(tmp_path)
    left = spilled(log, (10, 11), (12,))
    log.close()
    again = WriteAheadLog(tmp_path, kept_spills=[left.spill or ""])
    assert again.append([left]) == 1
    assert numbers(again, 0, 1) == [10, 11, 12]


def test_what_comes_first_knows_the_lsn_and_may_refuse_the_group(tmp_path: Path) -> None:
    log, told = WriteAheadLog(tmp_path), list[int]()
    log.append([record(1, 1)])
    assert log.append([record(1, 2), record(1, 3)], told.append) == 3
    assert told == [2]

    def refuse(lsn: int) -> None:
        raise ValueError(lsn)

    with pytest.raises(ValueError, match="4"):
        log.append([record(1, 4)], refuse)
    assert log.append([record(1, 5)]) == 4
    assert numbers(log, 0, 4) == [1, 2, 3, 5]
