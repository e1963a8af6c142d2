"""System calls that Python's library does not have, by the C library."""

from __future__ import annotations

import ctypes
import os
import platform
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

_PR_SET_KEEPCAPS, _PR_SET_NO_NEW_PRIVS = 8, 38
PRIVATE = 1 << 18 | 1 << 14  # MS_PRIVATE, MS_REC: what is mounted from now on nobody else sees
SAFE = 2 | 4 | 8  # MS_NOSUID, MS_NODEV, MS_NOEXEC
# Numbers of calls, for machines that are supported: (x86_64, aarch64).
_NUMBERS: Mapping[str, tuple[int, int]] = MappingProxyType(
    {
        "capset": (126, 91),
        "seccomp": (317, 277),
        "landlock_create_ruleset": (444, 444),
        "landlock_add_rule": (445, 445),
        "landlock_restrict_self": (446, 446),
        "unshare": (272, 97),
    }
)
MACHINES = ("x86_64", "aarch64")


def call(name: str, *arguments: int | bytes | ctypes.Array[ctypes.c_char] | None) -> int:
    """The call's result. Raises OSError if it fails, or if the machine's numbers are not known."""
    if platform.machine() not in MACHINES:
        raise OSError(0, f"the numbers of system calls of {platform.machine()} are not known")
    libc = ctypes.CDLL(None, use_errno=True)
    number = _NUMBERS[name][MACHINES.index(platform.machine())]
    converted = [ctypes.c_long(each) if isinstance(each, int) else each for each in arguments]
    libc.syscall.restype = ctypes.c_long
    result = int(libc.syscall(ctypes.c_long(number), *converted))
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return result


def mount(source: str | None, target: Path, kind: str | None, flags: int, options: str) -> None:
    """mount(2). Raises OSError."""
    libc = ctypes.CDLL(None, use_errno=True)
    names = [None if each is None else os.fsencode(each) for each in (source, target, kind)]
    if libc.mount(*names, ctypes.c_ulong(flags), options.encode()):
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))


def give_up_privileges() -> None:
    """No later call gives the process more rights: no_new_privs, without which the other walls need root."""
    _set(_PR_SET_NO_NEW_PRIVS)


def keep_capabilities_of_next_user() -> None:
    """What root could give up itself is not lost by becoming another user."""
    _set(_PR_SET_KEEPCAPS)


def _set(option: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(option, 1, 0, 0, 0):
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
