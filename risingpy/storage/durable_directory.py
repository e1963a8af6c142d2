"""Directories that survive power loss: a new name is durable only when its directory is synced."""

from __future__ import annotations

import os
import stat
from pathlib import Path

PRIVATE = 0o700


def make_directory(path: Path) -> None:
    """Makes the directory, and those above it that are missing, durably."""
    if path.is_dir():
        return
    make_directory(path.parent)
    path.mkdir(exist_ok=True)
    sync_directory(path.parent)


def make_private(path: Path) -> None:
    """Makes the directory if it is missing; nobody else may look into it, whatever is in it (mode 0700).

    Raises OSError, also for a directory of another user.
    """
    make_directory(path)
    if stat.S_IMODE(path.stat().st_mode) != PRIVATE:
        path.chmod(PRIVATE)


def sync_directory(path: Path) -> None:
    """Makes the names in the directory durable."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
