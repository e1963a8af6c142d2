"""Raises a worker's walls, one after the other, and tells of each whether it stands."""

from __future__ import annotations

import ctypes
import os
import resource
import site
import struct
import sys
import sysconfig
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import risingpy
from risingpy.functions.python.walls.kernel import (
    PRIVATE,
    SAFE,
    call,
    give_up_privileges,
    keep_capabilities_of_next_user,
    mount,
)
from risingpy.functions.python.walls.landlock import allow_only
from risingpy.functions.python.walls.seccomp import refuse_calls

_MOST_DESCRIPTORS = 256
_MOST_THREADS = 64
_FIRST_USER = 0x70000000  # a user for each worker, whom no other process has: 0x70000000 + its process id
_NOBODY = 65534
_NEWUSER, _NEWNET, _NEWIPC, _NEWUTS, _NEWNS = 0x10000000, 0x40000000, 0x08000000, 0x04000000, 0x00020000
_DIRECTORY, _DIRECTORY_BYTES = Path("/var/tmp"), 16 << 20
_CAPABILITY_VERSION, _READ_ALL = 0x20080522, 1 << 2  # CAP_DAC_READ_SEARCH
# What the dynamic loader and libraries read besides Python's own files.
_OF_THE_SYSTEM = (
    *("/usr/lib", "/usr/lib64", "/usr/local/lib", "/lib", "/lib64", "/usr/share/zoneinfo", "/etc/ld.so.cache"),
    *("/etc/localtime", "/etc/ssl/openssl.cnf", "/sys/devices/system/cpu", "/proc/cpuinfo", "/proc/meminfo"),
)


@dataclass(frozen=True, slots=True)
class Wall:
    """One of the walls. `how` says by what it is held, or why it does not stand."""

    name: str
    stands: bool
    how: str


def raise_walls() -> Sequence[Wall]:
    """Confines this process for ever. What the kernel does not give is told, and the other walls stand.

    Before the process begins a thread, which would go on without most of them. Raises RuntimeError if it has one.
    """
    if len(os.listdir("/proc/self/task")) > 1:
        raise RuntimeError("walls are raised before there are threads")
    readable, user = readable_paths(), _FIRST_USER + os.getpid() if os.geteuid() == 0 else os.geteuid()
    namespaces = _raised("namespaces", _leave_namespaces)
    directory = _raised("directory", lambda: _make_directory(user, alone=namespaces.stands))
    walls = [namespaces, directory]
    writable = [_DIRECTORY] if directory.stands else []
    walls.append(_raised("limits", lambda: _limit(_DIRECTORY_BYTES if writable else 0)))
    give_up_privileges()
    files = _raised("files", lambda: f"Landlock, version {allow_only(readable, writable)}")
    walls += (files, _raised("user", lambda: _become(user, readable, only_these=files.stands)))
    walls.append(_raised("calls", _refuse_calls))
    return walls


def is_filling(walls: Sequence[Wall]) -> bool:
    """Whether functions have left so many temporary files that the next one may lack space."""
    if not any(wall.name == "directory" and wall.stands for wall in walls):
        return False
    found = os.statvfs(_DIRECTORY)
    return 2 * found.f_bfree < found.f_blocks or 2 * found.f_ffree < found.f_files


def readable_paths() -> list[Path]:
    """Python, its packages and RisingPy's, and the system's libraries. Nothing else is a worker's business.

    Of a directory that has RisingPy in it, only RisingPy: a checkout may have a database beside it.
    """
    own = Path(risingpy.__file__).parent
    packages = {*site.getsitepackages(), sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    names = {*packages, sysconfig.get_path("stdlib"), *sys.path, str(Path(sys.prefix, "pyvenv.cfg"))}
    python = {Path(name) for name in names if os.path.isabs(name)}
    libraries = {Path(sys.base_prefix, "lib"), Path(sys.prefix, "lib")}
    if str(own.parent) not in packages:
        python.discard(own.parent)
    return sorted({own, *python, *libraries, *map(Path, _OF_THE_SYSTEM)})


def _raised(name: str, hold: Callable[[], str]) -> Wall:
    try:
        return Wall(name, True, hold())
    except OSError as error:
        return Wall(name, False, error.strerror or str(error))


def _limit(file_bytes: int) -> str:
    """How large a file may be, nothing is dumped, few descriptors; the memory has its limit already."""
    for what, most in (
        (resource.RLIMIT_FSIZE, file_bytes),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, _MOST_DESCRIPTORS),
        (resource.RLIMIT_MSGQUEUE, 0),
        (resource.RLIMIT_MEMLOCK, 0),
    ):
        resource.setrlimit(what, (most, most))
    return "rlimits"


def _leave_namespaces() -> str:
    """A network that has nothing, not even a loopback device that is up; mounts of its own."""
    user, group = os.geteuid(), os.getegid()
    flags = _NEWNET | _NEWIPC | _NEWUTS | _NEWNS
    if user == 0:
        call("unshare", flags)
    else:
        call("unshare", flags | _NEWUSER)
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    return "unshare: network, IPC, mounts"


def _make_directory(user: int, *, alone: bool) -> str:
    """An empty directory in memory, for temporary files, which only this process sees. It goes with the process.

    Raises OSError unless the process is `alone` with its mounts.
    """
    os.chdir("/")
    if not alone:
        raise OSError(0, "there is none: it needs mounts of its own")
    mount(None, Path("/"), None, PRIVATE, "")
    options = f"size={_DIRECTORY_BYTES},nr_inodes=1000,mode=0700,uid={user}"
    mount("tmpfs", _DIRECTORY, "tmpfs", SAFE, options)
    os.chdir(_DIRECTORY)
    return f"{_DIRECTORY_BYTES >> 20} MiB of memory"


def _become(user: int, readable: Sequence[Path], *, only_these: bool) -> str:
    """Another user without capabilities, if the server is root. `only_these`: no other files can be opened.

    Then the user may keep the right to read what root has hidden, such as a Python below /root. Raises OSError if the
    process stays the server's user; root has no capabilities then.
    """
    if os.geteuid() != 0:
        _keep_capabilities(0)
        raise OSError(0, "the server is not root: functions run as its user")
    hidden = _hidden(readable)
    if hidden is not None and not only_these:
        _keep_capabilities(0)
        raise OSError(0, f"other users than root cannot read {hidden}")
    keep_capabilities_of_next_user()
    resource.setrlimit(resource.RLIMIT_NPROC, (_MOST_THREADS, _MOST_THREADS))
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
    _keep_capabilities(0 if hidden is None else _READ_ALL)
    return "a user of its own, no capabilities" if hidden is None else "a user of its own, who may read Python's files"


def _hidden(readable: Sequence[Path]) -> Path | None:
    """A file of these that only root can read; None if there is none."""
    os.seteuid(_NOBODY)
    try:
        return next((path for path in readable if not _is_open(path)), None)
    finally:
        os.seteuid(0)


def _is_open(path: Path) -> bool:
    try:
        return not path.exists() or os.access(path, os.R_OK, effective_ids=True)
    except PermissionError:  # a directory above it
        return False


def _keep_capabilities(kept: int) -> None:
    """Gives up all capabilities but these, for ever."""
    header = struct.pack("=Ii", _CAPABILITY_VERSION, 0)
    words = struct.pack("=6I", kept, kept, 0, 0, 0, 0)
    call("capset", ctypes.create_string_buffer(header, len(header)), ctypes.create_string_buffer(words, len(words)))


def _refuse_calls() -> str:
    refuse_calls()
    return "seccomp"
