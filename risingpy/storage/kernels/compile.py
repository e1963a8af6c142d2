"""How kernels are compiled and where their machine code is kept.

A kernel is compiled, or loaded from the cache, at its first call: loading all takes half a second, which a
server does while it answers its first connections (`load`). Kernels release the GIL, but for those of a few rows
(`short_kernel`). Code is compiled for the
generic CPU of the architecture: it runs as fast here (measured: within noise) and a cache that was built into an
image serves every host.

The cache lies in the first of these folders that can be written, in a folder named by a hash of the sources of
kernels and of what is compiled into them, because Numba itself only notices changes of the file that a kernel
stands in. Those are this package's, and the files with `kernel` in their name wherever they are:
`$NUMBA_CACHE_DIR`, `__pycache__` beside this file, the user's cache folder, a private temporary folder. A
cache that an image or a package was built with, and that cannot be written, is copied there first.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib
import logging
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar, cast

from numba import config, njit, typeof, types
from numba.core.compiler_lock import global_compiler_lock
from numba.extending import typeof_impl

Function = TypeVar("Function", bound=Callable[..., Any])

LOG = logging.getLogger(__name__)

_ROOT = "risingpy"
_PACKAGE = Path(__file__).parent
_MODULES = (
    *("sizing", "keys", "key_reading", "datums", "rows", "row_writing", "grouping", "sorting", "digests"),
    *("lmdb_calls", "lmdb_ranges", "lmdb_writes", "key_probing", "run_search"),
    *("json", "json_containment", "json_keys"),
)


class Kernel:
    """A compiled function: `function`, for arguments of exactly the types of `signature`."""

    def __init__(self, function: Callable[..., Any], signature: Any, *, keeps_lock: bool = False) -> None:
        functools.update_wrapper(self, function)
        self._function = function
        self._signature = signature
        self._keeps_lock = keeps_lock
        self._dispatcher: Any = None
        self._loaded = False
        self._call = self._load_and_call

    def __call__(self, *arguments: Any) -> Any:
        return self._call(*arguments)

    def _load_and_call(self, *arguments: Any) -> Any:
        self._call = _entry_of(self.code)
        return self._call(*arguments)

    @property
    def code(self) -> Any:
        """Numba's dispatcher, its machine code loaded.

        A kernel that calls itself asks while it is compiled, in the same thread: it gets the dispatcher as it is then,
        by which Numba knows the recursion. Other threads wait for Numba's own lock, since of two locks one thread could
        hold the first and another the second.
        """
        if self._loaded:
            return self._dispatcher
        with global_compiler_lock:
            if self._dispatcher is None:
                self._dispatcher = njit(cache=True, nogil=not self._keeps_lock, error_model="numpy")(self._function)
                try:
                    self._dispatcher.compile(self._signature)
                except BaseException:  # also an interrupt: the next call tries it again
                    self._dispatcher = None
                    raise
                self._dispatcher.disable_compile()
                self._loaded = True
            return self._dispatcher


def _entry_of(dispatcher: Any) -> Callable[..., Any]:
    """What calls a kernel fastest: the one compiled function of a dispatcher.

    The dispatcher first finds out what the arguments are, to choose among functions of which there is one. That takes
    longer than many kernels do for the few rows of a small epoch. Arrays do go through it: only it would notice one
    whose items lie in another way than the function expects.
    """
    (compiled_function,) = dispatcher.overloads.values()
    takes_numbers = all(isinstance(each, types.Integer) for each in compiled_function.signature.args)
    entry: Callable[..., Any] = compiled_function.entry_point if takes_numbers else dispatcher
    return entry


@typeof_impl.register(Kernel)
def _type_of_kernel(kernel: Kernel, context: Any) -> Any:
    """For kernels that call kernels."""
    return typeof(kernel.code)  # type: ignore[no-untyped-call]


def compiled(*arguments: Any, result: Any = types.void, keeps_lock: bool = False) -> Callable[[Function], Function]:
    """Makes a kernel of a function with these types of arguments, cached, without the GIL unless it `keeps_lock`."""

    def decorate(function: Function) -> Function:
        return cast(Function, Kernel(function, result(*arguments), keeps_lock=keeps_lock))

    return decorate


def kernel(function: Function) -> Function:
    """Makes a kernel of a function over addresses: int64 arguments, int64 or no result, as it is annotated."""
    return _over_addresses(function, keeps_lock=False)


def short_kernel(function: Function) -> Function:
    """A kernel that keeps the GIL. For microseconds: to get the GIL back from a busy thread takes some 30 of them."""
    return _over_addresses(function, keeps_lock=True)


def _over_addresses(function: Function, *, keeps_lock: bool) -> Function:
    result = types.void if function.__annotations__["return"] in (None, "None") else types.int64
    arguments = [types.int64] * function.__code__.co_argcount
    return compiled(*arguments, result=result, keeps_lock=keeps_lock)(function)


def inlined(function: Function) -> Function:
    """A part of kernels, compiled into each that calls it."""
    return cast(Function, njit(error_model="numpy")(function))


def load() -> None:
    """Loads the storage's kernels and those that stand in any module of ours that was imported.

    Call it before forking workers, which then share the code and start at once.
    """
    for name in _MODULES:
        importlib.import_module(f"{_ROOT}.storage.kernels.{name}")
    for name, module in tuple(sys.modules.items()):
        if name.startswith(f"{_ROOT}."):
            for each in tuple(vars(module).values()):
                if isinstance(each, Kernel):
                    _ = each.code


def _cache_folders() -> Iterator[Path]:
    """Where the cache may lie, best first."""
    if os.environ.get("NUMBA_CACHE_DIR"):
        yield Path(os.environ["NUMBA_CACHE_DIR"])
    yield _PACKAGE / "__pycache__"
    user_cache = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"))
    if user_cache.is_absolute():  # not so for a user without a home
        yield user_cache / "risingpy"
    yield Path(tempfile.gettempdir()) / f"risingpy-kernels-{os.getuid()}"


def _is_ours_to_write(folder: Path) -> bool:
    """Whether `folder` exists, or can be made, is writable, and nobody else can plant code in it."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            status = folder.stat()
    except (OSError, RuntimeError):
        return False
    return status.st_uid in (os.getuid(), 0) and not status.st_mode & stat.S_IWOTH


def sources() -> list[Path]:
    """The files that decide which machine code a kernel has."""
    return sorted({*_PACKAGE.glob("*.py"), *_PACKAGE.parent.parent.rglob("*kernel*.py")})


def _source_hash() -> str:
    digest = hashlib.blake2b(digest_size=8)
    for source in sources():
        digest.update(source.read_bytes())
    return digest.hexdigest()


def _copy_built(built: Path, target: Path) -> None:
    """Starts a cache from the one that an installation came with, if that is read-only: Numba writes to its cache."""
    if target.exists() or not built.is_dir():
        return
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        copy = Path(scratch) / "copy"
        for file in filter(Path.is_file, built.rglob("*")):
            place = copy / file.relative_to(built)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, place)  # without its mode, which is read-only
        with contextlib.suppress(OSError):  # another process was first
            copy.rename(target)


def _configure() -> None:
    """Points Numba at the generic CPU and at our cache folder, before the first kernel is defined."""
    settings: Any = config
    settings.CPU_NAME = "generic"
    settings.CPU_FEATURES = ""
    name = f"kernels-{_source_hash()}"
    folder = next(filter(_is_ours_to_write, _cache_folders()), None) or Path(tempfile.mkdtemp(prefix="risingpy-"))
    _copy_built(_PACKAGE / "__pycache__" / name, folder / name)
    if not (folder / name).exists():
        # At import, so nobody has set up logging: it goes to stderr, where someone waits for a server to start.
        LOG.warning("Compiling RisingPy's kernels into %s, once: the first rows wait 20 s for it.", folder / name)
    settings.CACHE_DIR = str(folder / name)


_configure()
