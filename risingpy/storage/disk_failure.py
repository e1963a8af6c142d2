"""What the disk refuses, as the client's error: 53100 where it is full, else 58030."""

from __future__ import annotations

import errno
import os

from risingpy.errors import DiskFailure, DiskFull

_FULL = (errno.ENOSPC, errno.EDQUOT)
_FULL_TEXTS = tuple(os.strerror(number) for number in _FULL)  # LMDB's errors have only a text


def disk_failure(what: str, error: BaseException) -> DiskFailure:
    """The error of an operation (`cannot write the log`) that failed with `error`."""
    text = str(error)
    if getattr(error, "errno", None) in _FULL or any(full in text for full in _FULL_TEXTS):
        hint = "Free space on the disk of the data directory; what was acknowledged is safe."
        return DiskFull(f"{what}: {error}", hint=hint)
    return DiskFailure(f"{what}: {error}")
