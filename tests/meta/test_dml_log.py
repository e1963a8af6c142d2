"""The log of clients' rows, when the server cannot take note of what is durable."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from risingpy.errors import IoError
from risingpy.executors.change_chunk import INSERT, make_chunk
from risingpy.meta.writing.dml_log import DmlLog, TableChange
from risingpy.meta.writing.pending_rows import PendingRows


def _change(number: int) -> TableChange:
    return TableChange(1, 0, make_chunk(np.full(1, INSERT, np.int8), [pa.chunked_array([[number]])]))


def test_rows_that_it_cannot_note_end_all_appends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_memory(*_: object) -> None:
        raise MemoryError

    log = DmlLog(tmp_path / "log", 0, lambda: None)
    log.append([_change(1)], keys=[[(1,)]])
    monkeypatch.setattr(PendingRows, "add", no_memory)
    with pytest.raises(IoError, match="the rows are durable, but"):
        log.append([_change(2)], keys=[[(2,)]])
    monkeypatch.undo()
    with pytest.raises(IoError, match="an earlier write failed, start the server again"):
        log.append([_change(2)], keys=[[(2,)]])  # as a client would that takes the error for a refusal
    log.close()
    again = DmlLog(tmp_path / "log", 0, lambda: None)
    assert (again.last_lsn, again.next_epoch(10)) == (2, (2, 2))
    again.close()
