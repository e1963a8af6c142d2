"""The files that a worker may open: Python's own to read, by Landlock. All others the kernel refuses (EACCES)."""

from __future__ import annotations

import ctypes
import os
import stat
import struct
from collections.abc import Iterable
from pathlib import Path

from risingpy.functions.python.walls.kernel import call

_VERSION_QUESTION = 1
_RULE_PATH_BENEATH = 1
_READ_FILE, _READ_DIRECTORY, _WRITE_FILE = 1 << 2, 1 << 3, 1 << 1
# The rights that each version of Landlock knows: a ruleset handles all of them, and grants few.
_RIGHTS_OF_VERSION = (0, 13, 14, 15, 15, 16, 16)  # numbers of bits
_NET_SINCE, _SCOPES_SINCE = 4, 6
_ALL_NET, _ALL_SCOPES = 0b11, 0b11  # bind and connect of TCP; abstract sockets and signals
# Files, directories and links may be made, changed and removed; nothing is executed, and there are no devices.
_OF_WRITABLE = sum(1 << bit for bit in (1, 2, 3, 4, 5, 7, 8, 12, 14))
_DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom", "/dev/random")


def allow_only(readable: Iterable[Path], writable: Iterable[Path]) -> int:
    """From now on only these can be opened, with all below them, and some devices; returns Landlock's version.

    Raises OSError if the kernel has no Landlock. What does not exist is left out.
    """
    version = call("landlock_create_ruleset", None, 0, _VERSION_QUESTION)
    handled = (1 << _RIGHTS_OF_VERSION[min(version, len(_RIGHTS_OF_VERSION) - 1)]) - 1
    net, scopes = (_ALL_NET if version >= _NET_SINCE else 0), (_ALL_SCOPES if version >= _SCOPES_SINCE else 0)
    attributes = struct.pack("=QQQ", handled, net, scopes)
    size = 8 + 8 * (version >= _NET_SINCE) + 8 * (version >= _SCOPES_SINCE)
    ruleset = call("landlock_create_ruleset", ctypes.create_string_buffer(attributes, len(attributes)), size, 0)
    try:
        for path in readable:
            _allow(ruleset, path, _READ_FILE | _READ_DIRECTORY)
        for path in writable:
            _allow(ruleset, path, _OF_WRITABLE & handled)
        for name in _DEVICES:
            _allow(ruleset, Path(name), _READ_FILE | _WRITE_FILE)
        call("landlock_restrict_self", ruleset, 0)
    finally:
        os.close(ruleset)
    return version


def _allow(ruleset: int, path: Path, rights: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            rights &= ~_READ_DIRECTORY
        rule = struct.pack("=Qi", rights, descriptor)
        call("landlock_add_rule", ruleset, _RULE_PATH_BENEATH, ctypes.create_string_buffer(rule, len(rule)), 0)
    finally:
        os.close(descriptor)
