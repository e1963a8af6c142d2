"""The files below a directory of the server: `connector = 'posix_fs'`.

Nothing outside the directory is read. A symbolic link to a directory is not followed; one to a file is, if the file is
in the directory, too. This is checked when a file is listed, and once more of the file that was opened.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from risingpy.connectors.file_roots import allowed
from risingpy.connectors.stored_files.store import StoredFile
from risingpy.errors import InsufficientPrivilege, InvalidParameterValue, SourceUnavailable

SETTLED_SECONDS = 1.0  # after its last change a file counts as finished


class DirectoryStore:
    """Names are relative to the directory. Files and directories whose names begin with a dot are left out."""

    def __init__(self, root: str) -> None:
        """Raises InvalidParameterValue for a relative path, InsufficientPrivilege for one that is not allowed."""
        if not os.path.isabs(root):
            raise InvalidParameterValue(f'posix_fs.root must be an absolute path, not "{root}"')
        allowed(root)
        self._root = Path(root)

    def check(self) -> None:
        if not self._root.is_dir():
            raise InvalidParameterValue(f'posix_fs.root "{self._root}" is not a directory')
        self._resolved()
        next(iter(self.files()), None)

    def files(self) -> Iterable[StoredFile]:
        root = self._resolved()
        try:
            return list(self._below(root, "", root))
        except OSError as error:
            raise SourceUnavailable(f'could not list "{error.filename or self._root}": {error.strerror}') from None

    def read(self, name: str, start: int, end: int) -> bytes:
        with self._opened(name) as descriptor:
            return _bytes(descriptor, start, end)

    def size(self, name: str) -> int:
        with self._opened(name) as descriptor:
            return os.fstat(descriptor).st_size

    def close(self) -> None:
        """Does nothing: no file stays open."""

    def _resolved(self) -> Path:
        try:
            return allowed(str(self._root.resolve(strict=True)))
        except InsufficientPrivilege as error:
            raise SourceUnavailable(str(error)) from None
        except (OSError, RuntimeError) as error:
            raise SourceUnavailable(f'could not read directory "{self._root}": {error}') from None

    def _below(self, directory: Path, prefix: str, root: Path) -> Iterator[StoredFile]:
        with os.scandir(directory) as entries:
            for entry in entries:
                if entry.name.startswith("."):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    yield from self._below(Path(entry.path), f"{prefix}{entry.name}/", root)
                elif (found := _finished(entry, prefix, root)) is not None:
                    yield found

    @contextmanager
    def _opened(self, name: str) -> Iterator[int]:
        try:
            descriptor = os.open(self._root / name, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            try:
                self._refuse_outside(name, descriptor)
                yield descriptor
            finally:
                os.close(descriptor)
        except OSError as error:
            raise SourceUnavailable(f'could not read source file "{name}": {error.strerror}') from None

    def _refuse_outside(self, name: str, descriptor: int) -> None:
        """A link may have been put in place of the file since it was listed; what was opened cannot change any more."""
        opened = Path(os.readlink(f"/proc/self/fd/{descriptor}"))
        if not opened.is_relative_to(self._resolved()):
            raise SourceUnavailable(f'source file "{name}" is outside posix_fs.root')
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise SourceUnavailable(f'source file "{name}" is no regular file')


def _finished(entry: os.DirEntry[str], prefix: str, root: Path) -> StoredFile | None:
    """The file; None for one that is gone, not regular, outside the root, empty, or that somebody may be writing."""
    try:
        found = entry.stat()
        if entry.is_symlink() and not Path(entry.path).resolve().is_relative_to(root):
            return None
    except (OSError, RuntimeError):
        return None
    is_settled = not 0 <= time.time() - found.st_mtime < SETTLED_SECONDS
    if not stat.S_ISREG(found.st_mode) or not found.st_size or not is_settled:
        return None
    return StoredFile(prefix + entry.name, found.st_size)


def _bytes(descriptor: int, start: int, end: int) -> bytes:
    """The kernel may return less than it was asked for, of more than 2 GB say."""
    pieces = []
    while start < end and (piece := os.pread(descriptor, end - start, start)):
        pieces.append(piece)
        start += len(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)
