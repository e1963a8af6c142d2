"""BACKUP TO: copies a running database as of one epoch; `risingpy restore` makes a data directory of the copy.

Between two epochs it pins the shards and the meta store and opens the log's files, which takes no time. Then it copies
them while epochs continue. A backup is a data directory with a note that it is complete; the note is written last.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO

from risingpy.errors import Check, SqlError, unchecked
from risingpy.meta.state import MetaState
from risingpy.storage.disk_failure import disk_failure
from risingpy.storage.durable_directory import PRIVATE, make_directory, make_private, sync_directory, write_durably
from risingpy.storage.engine.meta_store import MetaStore, meta_directory
from risingpy.storage.engine.read_views import ReadView, StateStore
from risingpy.storage.engine.shard_store import shard_directory
from risingpy.storage.format_note import read_note as read_format_note
from risingpy.storage.format_note import write_note as write_format_note
from risingpy.storage.log.cut import cut_log
from risingpy.storage.log.segment import segment_paths
from risingpy.storage.log.spill import spill_paths
from risingpy.storage.log.write_ahead_log import log_directory

NOTE = "backup.json"
_CHUNK = 1 << 20


def back_up(
    target: Path,
    data_dir: Path,
    change: Callable[[Callable[[MetaState], MetaState]], object],
    store: StateStore,
    meta_store: MetaStore,
    last_lsn: Callable[[], int],
    check: Check = unchecked,
) -> int:
    """Copies the database to a new directory; returns the epoch. `change` calls a function between two epochs.

    `last_lsn` is the log's last record. What is logged later is not copied: the meta store, as it is pinned, does not
    know the numbers of those rows, nor their values of sequences, and would give them again.
    If `check` cancels it, the directory that it leaves has no note, and is no backup.
    """
    _check_target(target)
    pinned: list[_PinnedDatabase] = []

    def pin(state: MetaState) -> MetaState:
        # This runs between two epochs, so the shards, the meta store and the log agree.
        view = store.open_read_view(state.committed.epoch)  # its own view, because a copy keeps it busy
        pinned.append(_PinnedDatabase(data_dir, state, view, meta_store, last_lsn()))
        return state

    change(pin)
    try:
        pinned[0].copy_to(target, check)
    finally:
        pinned[0].close()
    return pinned[0].epoch


class _PinnedDatabase:
    """The state that a backup copies. Made between two epochs, it keeps everything readable until `close`."""

    def __init__(self, data_dir: Path, state: MetaState, view: ReadView, store: MetaStore, last_lsn: int) -> None:
        """`view` is a view of the state's committed epoch that nobody else uses."""
        self.epoch = state.committed.epoch
        self._view = view
        self._last_lsn = last_lsn  # before the meta store: what gives numbers notes them there, and then logs the rows
        self._stack = ExitStack()
        self._stack.callback(view.release)
        self._meta = self._stack.enter_context(store.pinned())
        log = log_directory(data_dir)
        paths = [*segment_paths(log).values(), *spill_paths(log)]
        self._segments = [(path.name, self._stack.enter_context(path.open("rb"))) for path in paths]

    def copy_to(self, target: Path, check: Check) -> None:
        """Writes the backup. Raises IoError if the disk fails; the directory then has no note, and is no backup."""
        shards = self._view.shards
        try:
            for shard, snapshot in enumerate(self._view.snapshots):
                check()
                snapshot.copy_to(shard_directory(target, shard, shards))
            self._meta.copy_to(meta_directory(target))
            make_directory(log_directory(target))
            for name, segment in self._segments:
                _copy_file(segment, log_directory(target) / name, check)
            cut_log(log_directory(target), self._last_lsn)
            sync_directory(log_directory(target))
            write_format_note(target)
            _write_note(target, {"epoch": self.epoch, "shards": shards, "made_at": int(time.time())})
        except OSError as error:
            raise disk_failure(f"cannot write the backup in {target}", error) from error

    def close(self) -> None:
        self._stack.close()


def _check_target(target: Path) -> None:
    """Raises an error unless the directory is empty or missing."""
    if not target.is_absolute():
        raise SqlError(f'"{target}" is not an absolute path', sqlstate="42602", hint="The path is the server's.")
    try:
        if target.exists() and (not target.is_dir() or any(target.iterdir())):
            raise SqlError(f'"{target}" exists and is not an empty directory', sqlstate="58P02")
        make_private(target)
    except OSError as error:
        raise disk_failure(f"cannot write the backup in {target}", error) from error


def restore(backup: Path, data_dir: Path) -> int:
    """Makes a data directory of a backup; returns its epoch. Raises SqlError if either directory does not qualify.

    IncompatibleStore for a backup of a later version.
    """
    try:
        note = json.loads((backup / NOTE).read_text())
    except (OSError, ValueError) as error:
        raise SqlError(f"{backup} is not a whole backup: {error}", sqlstate="58P01") from error
    read_format_note(backup)
    try:
        if data_dir.exists() and any(data_dir.iterdir()):
            raise SqlError(f"{data_dir} exists and is not empty", sqlstate="58P02")
        make_private(data_dir)
        shutil.copytree(backup, data_dir, ignore=shutil.ignore_patterns(NOTE, "lock.mdb"), dirs_exist_ok=True)
        data_dir.chmod(PRIVATE)  # copytree has given it the mode of the backup
        for path in sorted(data_dir.rglob("*")):
            _sync(path)
        _sync(data_dir)
    except OSError as error:
        raise disk_failure(f"cannot restore to {data_dir}", error) from error
    return int(note["epoch"])


def _copy_file(source: BinaryIO, target: Path, check: Check) -> None:
    with target.open("wb") as file:
        while chunk := source.read(_CHUNK):
            check()
            file.write(chunk)
        file.flush()
        os.fsync(file.fileno())


def _write_note(target: Path, note: Mapping[str, int]) -> None:
    write_durably(target / NOTE, f"{json.dumps(note)}\n".encode())


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
