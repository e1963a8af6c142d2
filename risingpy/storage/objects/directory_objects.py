"""Objects as files below a directory that all machines see: a local disk, NFS.

A put writes a file of another name, syncs it, links it to its own name, which fails if that is taken, and syncs the
directory. So a name is there only with all of its bytes, and what was answered survives a loss of power. (Obstore's own
local store renames without a sync.)
"""

from __future__ import annotations

import logging
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

from risingpy.storage.durable_directory import PRIVATE, make_directory, others_may_write, sync_directory
from risingpy.storage.fault_points import reach
from risingpy.storage.objects.object_store import Bytes, FoundObject, ObjectExists, ObjectMissing, StateUnavailable

_log = logging.getLogger(__name__)

_UNFINISHED = ".unfinished"  # a directory; a put that was interrupted leaves a file in it


class DirectoryObjects:
    """See `ObjectStore`."""

    def __init__(self, root: Path) -> None:
        self.uri = root.absolute().as_uri()
        self._root = root
        if others_may_write(root):
            _log.warning("other users may write to %s, and so to the database that is in it", root)
        self._known: set[Path] = set()  # directories that are there, and durable

    def put(self, name: str, data: Bytes) -> None:
        target = self._root / name
        unfinished = self._root / _UNFINISHED / secrets.token_hex(16)
        try:
            for directory in (unfinished.parent, target.parent):
                self._make(directory)
            reach("object.write")
            _write_synced(unfinished, data)
            try:
                reach("object.link")
                os.link(unfinished, target)
            finally:
                unfinished.unlink()
            reach("object.sync")
            sync_directory(target.parent)
        except FileExistsError:
            raise ObjectExists(name) from None
        except OSError as error:
            raise self._failed("write", name, error) from error

    def get(self, name: str) -> bytes:
        try:
            return (self._root / name).read_bytes()
        except FileNotFoundError:
            self._refuse_vanished()
            raise ObjectMissing(name) from None
        except OSError as error:
            raise self._failed("read", name, error) from error

    def list(self, prefix: str) -> Iterator[FoundObject]:
        try:
            names = sorted(self._names(self._root / prefix))
        except OSError as error:
            raise self._failed("list", prefix, error) from error
        for name in names:
            try:
                found = (self._root / name).stat()
            except FileNotFoundError:
                continue  # deleted since
            yield FoundObject(name, found.st_size, found.st_mtime)

    def delete(self, name: str) -> None:
        try:
            (self._root / name).unlink(missing_ok=True)
        except OSError as error:
            raise self._failed("delete", name, error) from error

    def delete_unfinished(self, before: float) -> int:
        directory, removed = self._root / _UNFINISHED, 0
        for path in directory.iterdir() if directory.is_dir() else ():
            if path.stat().st_mtime < before:
                path.unlink(missing_ok=True)
                removed += 1
        return removed

    def _make(self, directory: Path) -> None:
        if directory not in self._known:
            make_directory(self._root, mode=PRIVATE)
            make_directory(directory, mode=PRIVATE)
            self._known.add(directory)

    def _names(self, directory: Path) -> Iterator[str]:
        if not directory.is_dir():
            self._refuse_vanished()
            return
        with os.scandir(directory) as entries:
            for entry in entries:
                if entry.is_dir():
                    if entry.name != _UNFINISHED:
                        yield from self._names(Path(entry.path))
                else:
                    yield Path(entry.path).relative_to(self._root).as_posix()

    def _refuse_vanished(self) -> None:
        """Where a whole file system is not mounted, nothing is there; that is another thing than a missing object."""
        if self._known and not self._root.is_dir():
            raise StateUnavailable(f"{self.uri} is not there any more")

    def _failed(self, what: str, name: str, error: OSError) -> StateUnavailable:
        return StateUnavailable(f"cannot {what} {self._root / name}: {error.strerror or error}")


def _write_synced(path: Path, data: Bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        view = memoryview(data).cast("B")
        while view:
            view = view[os.write(descriptor, view) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
