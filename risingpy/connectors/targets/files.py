"""Sinks to files of a directory: `connector = 'fs'`."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from risingpy.connectors.file_roots import allowed
from risingpy.connectors.formats.decoder import MessageFormat
from risingpy.connectors.targets.epoch_files import epoch_files
from risingpy.connectors.targets.options import Options
from risingpy.connectors.targets.target import SinkSchema
from risingpy.errors import IoError, TargetUnavailable

_PERMANENT = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.ENAMETOOLONG, errno.ELOOP)


class FileTarget:
    """A `SinkTarget` that writes a file for each epoch that has rows. Exactly once.

    The file's name is the epoch's. It is written under another name that begins with a dot, synced, and renamed: a file
    is there whole or not at all, and a second delivery of an epoch finds it. The newest name is the last epoch.
    """

    keeps_epochs = True

    def __init__(
        self, options: Mapping[str, str], schema: SinkSchema, message_format: MessageFormat | None = None
    ) -> None:
        """Raises InvalidParameterValue, FeatureNotSupported or InsufficientPrivilege; touches no file."""
        self._options = Options("the fs sink", options)
        self._options.refuse_unknown(("fs.path",))
        self._path = self._options.required("fs.path")
        allowed(self._path)
        self._files = epoch_files(schema, message_format)

    @property
    def _directory(self) -> Path:
        """Where it is now, without links."""
        return allowed(self._path)

    def check(self) -> None:
        """Makes the directory if it is missing, and a file in it that nobody sees."""
        with _errors():
            self._directory.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=self._directory).close()

    def open(self) -> int | None:
        with _errors():
            self._directory.mkdir(parents=True, exist_ok=True)
            epochs = [self._files.epoch_of(name) for name in os.listdir(self._directory)]
        return max((epoch for epoch in epochs if epoch is not None), default=None)

    def deliver(self, epoch: int, changes: Sequence[pa.Table]) -> None:
        path = self._directory / self._files.name(epoch)
        with _errors():
            if path.exists():
                return
            content = self._files.content(changes)
            if content is None:
                return
            unfinished = path.with_name(f".{path.name}.unfinished")
            with open(unfinished, "wb", opener=_no_link) as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            unfinished.rename(path)
            _sync_directory(self._directory)

    def close(self) -> None:
        pass


def _no_link(path: str, flags: int) -> int:
    """Opens a file, and not what a link of its name leads to."""
    return os.open(path, flags | os.O_NOFOLLOW, 0o666)


def _sync_directory(directory: Path) -> None:
    """Makes a rename durable."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _errors() -> Iterator[None]:
    """The system's errors as ours: a full or broken disk may be mended, a directory without access stays one."""
    try:
        yield
    except OSError as error:
        message = f"could not write to {error.filename or 'the directory of the sink'}: {error.strerror}"
        if error.errno in _PERMANENT:
            raise IoError(message) from None
        raise TargetUnavailable(message) from None
