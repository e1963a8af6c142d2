"""What a task must know of an epoch: small, immutable, and the same for every attempt.

The barrier loop writes it to `DATA/run/epoch.json` before it starts the epoch; tasks of any process read it
there. It names the graph's version, whose file (`graph_path`) each process reads once.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class SplitRange:
    """A part of an external source for one job: rows `start` ≤ position < `end` of `split` in this epoch.

    `ordinal` numbers the source's splits in the order in which the job first saw them.
    """

    job_id: int
    source_id: int
    split: str
    start: int
    end: int
    ordinal: int


@dataclass(frozen=True, slots=True)
class EpochDescriptor:
    """One epoch. `committed` is the epoch before it; log records in (`log_after`, `log_up_to`] belong to it.

    `fresh_jobs` are the jobs for which it is the first epoch. `purge` are dropped tables whose rows are to be
    deleted on the way; `compact` are tables whose rows are to be rewritten without dropped columns, each with the
    version that this is for. `single_task` epochs run every stage in one task. `watermarks`: by id, what the epochs
    before have reached. `backfilling` are the jobs that still read snapshots.
    """

    epoch: int
    committed: int
    graph_version: int
    shards: int
    log_after: int
    log_up_to: int
    splits: tuple[SplitRange, ...] = ()
    fresh_jobs: tuple[int, ...] = ()
    purge: tuple[int, ...] = ()
    compact: tuple[tuple[int, int], ...] = ()
    single_task: bool = True
    watermarks: tuple[tuple[int, int], ...] = ()
    backfilling: tuple[int, ...] = ()


def run_directory(data_dir: Path) -> Path:
    """Files that live no longer than the server process."""
    return data_dir / "run"


def graph_path(data_dir: Path, version: int) -> Path:
    """Where the stream graph of `version` is written for the tasks to read."""
    return run_directory(data_dir) / f"graph-{version}"


def write_descriptor(data_dir: Path, descriptor: EpochDescriptor) -> None:
    """Publishes the descriptor of the epoch that is about to run, atomically."""
    path = run_directory(data_dir) / "epoch.json"
    scratch = path.with_suffix(".new")
    scratch.write_text(json.dumps(asdict(descriptor)))
    os.replace(scratch, path)


class StaleEpoch(RuntimeError):
    """The task belongs to an epoch that is over: a leftover of a server that was killed."""


def descriptor_of(data_dir: Path, epoch: int) -> EpochDescriptor:
    """The descriptor of `epoch`. StaleEpoch if another is running."""
    descriptor = read_descriptor(data_dir)
    if descriptor.epoch != epoch:
        raise StaleEpoch(f"epoch {epoch} is over")
    return descriptor


def read_descriptor(data_dir: Path) -> EpochDescriptor:
    """The descriptor of the running epoch."""
    fields = json.loads((run_directory(data_dir) / "epoch.json").read_text())
    fields["splits"] = tuple(SplitRange(**split) for split in fields["splits"])
    fields["fresh_jobs"] = tuple(fields["fresh_jobs"])
    fields["purge"] = tuple(fields["purge"])
    fields["compact"] = tuple((table_id, target) for table_id, target in fields["compact"])
    fields["watermarks"] = tuple((watermark_id, value) for watermark_id, value in fields["watermarks"])
    fields["backfilling"] = tuple(fields["backfilling"])
    return EpochDescriptor(**fields)
