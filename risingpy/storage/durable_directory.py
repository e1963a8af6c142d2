"""Directories that survive power loss: a new name is durable only when its directory is synced."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

PRIVATE = 0o700


def make_directory(path: Path, *, mode: int = 0o777) -> None:
    """Makes the directory, with a mode, and those above it that are missing, durably."""
    if path.is_dir():
        return
    make_directory(path.parent)
    path.mkdir(mode=mode, exist_ok=True)
    sync_directory(path.parent)


def make_private(path: Path) -> None:
    """Makes the directory if it is missing; nobody else may look into it, whatever is in it (mode 0700).

    Raises OSError, also for a directory of another user, who could open it again; only an empty one root makes its own.
    """
    make_directory(path, mode=PRIVATE)
    if path.stat().st_uid != os.geteuid():
        if any(path.iterdir()):
            raise PermissionError(errno.EPERM, "it belongs to another user, who could change what is in it", str(path))
        os.chown(path, os.geteuid(), -1)
    if stat.S_IMODE(path.stat().st_mode) != PRIVATE:
        path.chmod(PRIVATE)


def others_may_write(path: Path) -> bool:
    """Whether a user who is neither this one nor root may put something into a directory that is there."""
    try:
        found = path.stat()
    except OSError:  # whoever uses it finds out why
        return False
    return found.st_uid not in (os.geteuid(), 0) or bool(found.st_mode & (stat.S_IWGRP | stat.S_IWOTH))


def write_durably(path: Path, content: bytes) -> None:
    """Writes a whole file, durably: after a crash it has these bytes, or is as it was before. Raises OSError."""
    unfinished = path.with_name(f"{path.name}.new")
    with unfinished.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    unfinished.rename(path)
    sync_directory(path.parent)


def sync_directory(path: Path) -> None:
    """Makes the names in the directory durable."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
