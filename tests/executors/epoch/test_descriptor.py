"""Tasks read the descriptor of their epoch, whole, until another epoch begins."""

from __future__ import annotations

from pathlib import Path

import pytest

from risingpy.executors.epoch.descriptor import (
    EpochDescriptor,
    EpochIsOver,
    SplitRange,
    TakenOver,
    descriptor_of,
    forget_descriptors,
    run_directory,
    write_descriptor,
)
from risingpy.executors.epoch.handed_over import Pieces


def test_a_descriptor_is_read_as_it_was_written(tmp_path: Path) -> None:
    run_directory(tmp_path).mkdir()
    written = EpochDescriptor(
        epoch=7, committed=6, graph_version=3, shards=2, log_after=1, log_up_to=5,
        splits=(SplitRange(1, 2, "s", 0, 9, 0),), fresh_jobs=(4,), purge=(5,), compact=((6, 2),), single_task=False,
        watermarks=((1, 99),), backfilling=(4,), snapshot_rows=((4, 1000),), trim=((8, 5),), job_seconds=0.5, rows=12,
        handed_over=(TakenOver(9, "d", Pieces(0, 1, 2, 9)),),
    )  # fmt: skip
    write_descriptor(tmp_path, written)
    assert descriptor_of(tmp_path, 7) == written


def test_a_task_of_another_epoch_finds_that_it_is_over(tmp_path: Path) -> None:
    run_directory(tmp_path).mkdir()
    first, again, second = (EpochDescriptor(epoch, 6, 3, 2, 1, log) for epoch, log in ((7, 5), (7, 6), (8, 6)))
    write_descriptor(tmp_path, first)
    write_descriptor(tmp_path, again)  # the epoch has failed, and is tried again
    assert descriptor_of(tmp_path, 7) == again
    write_descriptor(tmp_path, second)
    assert descriptor_of(tmp_path, 8) == second
    with pytest.raises(EpochIsOver, match="epoch 7 is over"):
        descriptor_of(tmp_path, 7)
    assert len(list(run_directory(tmp_path).iterdir())) == 1
    forget_descriptors(tmp_path)  # an epoch that needs no file
    with pytest.raises(EpochIsOver, match="epoch 8 is over"):
        descriptor_of(tmp_path, 8)
