"""A database whose epochs stand still when a test wants it: what waits for an epoch, and what does not?

Import `database` and `runner` as fixtures; they take the place of the folder's own `database`.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from risingpy.executors.epoch.descriptor import EpochDescriptor
from risingpy.meta.database import Database
from risingpy.meta.epochs.in_process_runner import InProcessRunner
from risingpy.meta.epochs.runner import EpochReport
from risingpy.plan.recursion.loops import Stages


class HeldRunner(InProcessRunner):
    """Runs an epoch only while nobody holds it."""

    def __init__(self, data_dir: Path) -> None:
        super().__init__(data_dir)
        self.may_run = threading.Event()
        self.may_run.set()

    def run(self, descriptor: EpochDescriptor, stages: Stages) -> EpochReport:
        self.may_run.wait()
        return super().run(descriptor, stages)


@pytest.fixture
def runner(tmp_path: Path) -> HeldRunner:
    return HeldRunner(tmp_path / "data")


@pytest.fixture
def database(tmp_path: Path, runner: HeldRunner) -> Iterator[Database]:
    opened = Database(tmp_path / "data", parallelism=2)
    opened.start(runner)
    yield opened
    runner.may_run.set()
    opened.close()
