"""Directories that survive power loss: a new name is durable only when its directory is synced."""

from __future__ import annotations

import os
from pathlib import Path


def make_directory(path: Path) -> None:
    """Makes the directory, and those above it that are missing, durably."""
    if path.is_dir():
        return
    make_directory(path.parent)
    path.mkdir(exist_ok=True)
    sync_directory(path.parent)


def sync_directory(path: Path) -> None:
    """Makes the names in the directory durable."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
