"""What the disk refuses, as the client's error: 53100 where it is full, else 58030. Memory is no disk."""

from __future__ import annotations

import errno
import os

from risingpy.errors import DiskFailure, DiskFull

_FULL = (errno.ENOSPC, errno.EDQUOT)
_FULL_TEXTS = tuple(os.strerror(number) for number in _FULL)  # LMDB's errors have only a text
_NO_MEMORY_TEXT = os.strerror(errno.ENOMEM)


def disk_failure(what: str, error: BaseException) -> DiskFailure:
    """The error of an operation (`cannot write the log`) that failed with `error`.

    Raises MemoryError where not the disk refused it, but the process has no memory left: LMDB copies the pages that a
    transaction writes.
    """
    text = str(error)
    if getattr(error, "errno", None) == errno.ENOMEM or _NO_MEMORY_TEXT in text:
        raise MemoryError(f"{what}: {error}") from error
    if getattr(error, "errno", None) in _FULL or any(full in text for full in _FULL_TEXTS):
        hint = "Free space on the disk of the data directory; what was acknowledged is safe."
        return DiskFull(f"{what}: {error}", hint=hint)
    return DiskFailure(f"{what}: {error}")
