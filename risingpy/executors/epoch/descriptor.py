"""What a task must know of an epoch: small, immutable, and the same for every attempt.

Before an epoch of several tasks, the barrier loop writes the descriptor to a file of `DATA/run`, and the tasks of all
processes read it there; a task that runs whole epochs gets it on its socket. The descriptor names the version of the
stream graph, whose file (`graph_path`) each process reads once.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from risingpy.connectors.secrets.vault import default_key_file
from risingpy.executors.epoch.handed_over import Pieces

LEAST_JOB_SECONDS = 0.03  # of CPU time, for a job in an epoch: less finds the first use of a function guilty


@dataclass(frozen=True, slots=True)
class SplitRange:
    """A job's part of an external source in this epoch: the rows `start` ≤ position < `end` of `split`.

    `ordinal` numbers the source's splits in the order in which the job first saw them. `row_positions`: about how many
    positions a row takes.
    """

    job_id: int
    source_id: int
    split: str
    start: int
    end: int
    ordinal: int
    row_positions: int = 1

    @property
    def rows(self) -> int:
        """About how many rows the range has."""
        return -(-(self.end - self.start) // self.row_positions)


@dataclass(frozen=True, slots=True)
class TakenOver:
    """A part of what a job has done in an epoch of its own, in files of a directory."""

    job_id: int
    directory: str
    pieces: Pieces


@dataclass(frozen=True, slots=True)
class EpochDescriptor:
    """One epoch. `committed` is the epoch before it; the log records in (`log_after`, `log_up_to`] belong to it.

    `fresh_jobs` are the jobs for which it is the first epoch. `purge` are dropped tables, whose rows this epoch deletes
    in part. `compact` are tables whose rows it rewrites without dropped columns, each with the schema version that the
    rows get. If `single_task`, one task runs all stages. `watermarks` are (id, value) as of the epoch before.
    `backfilling` are the jobs that still read snapshots, `snapshot_rows` how many rows on each shard in this
    epoch (a job that is not there: none). `trim` are changelogs that lose their epochs up to one:
    (table, epoch). `job_seconds`: how much CPU time a job that can be set aside may take on a shard, for each of its
    fragments (0: any). `rows`: about how many the epoch has. `handed_over`: the jobs whose results it takes over from
    epochs of their own.
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
    snapshot_rows: tuple[tuple[int, int], ...] = ()
    trim: tuple[tuple[int, int], ...] = ()
    job_seconds: float = 0.0
    rows: int = 0
    handed_over: tuple[TakenOver, ...] = ()


def run_directory(data_dir: Path) -> Path:
    """The directory of files that only the running server process needs."""
    return data_dir / "run"


def graph_path(data_dir: Path, version: int) -> Path:
    """The file with the stream graph of `version`, for the tasks to read."""
    return run_directory(data_dir) / f"graph-{version}"


def write_key_file(data_dir: Path, key_file: Path) -> None:
    """Tells the tasks where the key file is; the key itself is never written."""
    (run_directory(data_dir) / "secret-key-file").write_text(str(key_file.absolute()))


def key_file_of(data_dir: Path) -> Path:
    """Where the key file of a data directory is that a server has opened."""
    try:
        return Path((run_directory(data_dir) / "secret-key-file").read_text())
    except FileNotFoundError:
        return default_key_file(data_dir)


def write_state_uri(data_dir: Path, uri: str | None) -> None:
    """Tells the tasks where the truth is: shared storage, or, without a URI, the data directory itself."""
    path = run_directory(data_dir) / "state-uri"
    if uri is None:
        path.unlink(missing_ok=True)
    else:
        path.write_text(uri)


def state_of(data_dir: Path) -> str | None:
    """The URI of the shared storage for which a server has opened the data directory, if there is one."""
    try:
        return (run_directory(data_dir) / "state-uri").read_text()
    except FileNotFoundError:
        return None


def write_descriptor(data_dir: Path, descriptor: EpochDescriptor) -> None:
    """Publishes the descriptor of the epoch that is about to run, atomically, and removes those of earlier ones.

    Each epoch has a file of its own: ext4 writes a file to disk at once that replaces another one, for whoever forgets
    to synchronize. That took 0.1 ms, and more on a busy disk. Only an epoch that is tried again replaces its file.
    """
    path = _descriptor_path(data_dir, descriptor.epoch)
    scratch = path.with_name("epoch.new")
    scratch.write_text(json.dumps(asdict(descriptor)))
    os.replace(scratch, path)
    forget_descriptors(data_dir, keep=path)


def forget_descriptors(data_dir: Path, *, keep: Path | None = None) -> None:
    """Removes the descriptors of epochs before: tasks that run those end."""
    for earlier in run_directory(data_dir).glob("epoch-*.json"):
        if earlier != keep:
            earlier.unlink()


def _descriptor_path(data_dir: Path, epoch: int) -> Path:
    return run_directory(data_dir) / f"epoch-{epoch}.json"


class EpochIsOver(RuntimeError):
    """The task belongs to an epoch that has ended: its server was killed, and the task has survived it."""


def descriptor_of(data_dir: Path, epoch: int) -> EpochDescriptor:
    """The descriptor of `epoch`. Raises EpochIsOver if another epoch is running."""
    try:
        fields = json.loads(_descriptor_path(data_dir, epoch).read_text())
    except FileNotFoundError:
        raise EpochIsOver(f"epoch {epoch} is over") from None
    fields["splits"] = tuple(SplitRange(**split) for split in fields["splits"])
    fields["fresh_jobs"] = tuple(fields["fresh_jobs"])
    fields["purge"] = tuple(fields["purge"])
    fields["compact"] = tuple((table_id, target) for table_id, target in fields["compact"])
    fields["watermarks"] = tuple((watermark_id, value) for watermark_id, value in fields["watermarks"])
    fields["backfilling"] = tuple(fields["backfilling"])
    fields["snapshot_rows"] = tuple((job_id, rows) for job_id, rows in fields["snapshot_rows"])
    fields["trim"] = tuple((table_id, epoch) for table_id, epoch in fields["trim"])
    fields["handed_over"] = tuple(
        TakenOver(each["job_id"], each["directory"], Pieces(**each["pieces"])) for each in fields["handed_over"]
    )
    return EpochDescriptor(**fields)
