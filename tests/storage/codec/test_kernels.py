"""Where the kernels' machine code is kept, and that a second process finds it there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba import config, types
from numba.core.dispatcher import Dispatcher

import risingpy
from risingpy.storage import kernels
from risingpy.storage.codec.column_buffers import Output
from risingpy.storage.kernels import compile as compilation

COUNT_MISSES = """
import risingpy
from risingpy.storage import kernels
kernels.load()
from risingpy.storage.kernels import (
    datums,
    grouping,
    key_reading,
    keys,
    lmdb_calls,
    lmdb_ranges,
    lmdb_writes,
    row_writing,
    rows,
    sizing,
    sorting,
)
from risingpy.storage.kernels.compile import Kernel
modules = (datums, grouping, key_reading, keys, lmdb_calls, lmdb_ranges, lmdb_writes)
modules += (row_writing, rows, sizing, sorting)
found = {f for m in modules for f in vars(m).values() if isinstance(f, Kernel)}
print(len(found), sum(sum(f.code.stats.cache_misses.values()) for f in found))
"""


def test_another_process_compiles_nothing() -> None:
    kernels.load()
    output = subprocess.check_output([sys.executable, "-c", COUNT_MISSES], text=True)
    count, misses = map(int, output.split())
    assert count > 25
    assert misses == 0


def test_a_first_start_says_what_it_does(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(config, "CACHE_DIR", vars(config)["CACHE_DIR"])  # put back after the test
    monkeypatch.setattr(compilation, "_source_hash", lambda: "new")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    compilation._configure()
    assert "Compiling RisingPy's kernels" in caplog.text
    (tmp_path / "kernels-new").mkdir()  # as Numba does with the first kernel
    caplog.clear()
    compilation._configure()
    assert caplog.text == ""


def test_cache_folders(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "chosen"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    folders = list(compilation._cache_folders())
    assert folders[0] == tmp_path / "chosen"
    assert folders[1] == Path(compilation.__file__).parent / "__pycache__"
    assert folders[2] == tmp_path / "user" / "risingpy"
    monkeypatch.delenv("NUMBA_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert len(list(compilation._cache_folders())) == 2


def test_only_folders_of_our_own_are_used(tmp_path: Path) -> None:
    assert compilation._is_ours_to_write(tmp_path / "new" / "folder")
    (tmp_path / "file").touch()
    assert not compilation._is_ours_to_write(tmp_path / "file" / "folder")
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    assert not compilation._is_ours_to_write(shared)


def test_a_built_cache_is_copied_and_can_be_written(tmp_path: Path) -> None:
    built, target = tmp_path / "built", tmp_path / "target"
    (built / "kernels").mkdir(parents=True)
    (built / "kernels" / "code").write_bytes(b"code")
    (built / "kernels" / "code").chmod(0o400)
    (built / "kernels").chmod(0o500)
    compilation._copy_built(built, target)
    assert (target / "kernels" / "code").read_bytes() == b"code"
    assert (target / "kernels").stat().st_mode & 0o200
    (target / "kernels" / "code").write_bytes(b"other")
    compilation._copy_built(built, target)
    assert (target / "kernels" / "code").read_bytes() == b"other"
    assert [path.name for path in tmp_path.iterdir() if path not in (built, target)] == []
    (built / "kernels").chmod(0o700)


def test_a_batch_of_more_than_2_gib_is_refused() -> None:
    with pytest.raises(OverflowError, match="2 rows"):
        Output(np.array([2**30, 2**30], np.int64))


def test_a_change_of_any_kernel_makes_a_new_cache() -> None:
    """Of this package's files, those that define kernels, or parts of them, are in the cache's name."""
    root = Path(risingpy.__file__).parent
    users = {path for path in root.rglob("*.py") if "from risingpy.storage.kernels.compile import" in path.read_text()}
    assert len(users) > 10
    assert users <= {*compilation.sources()}


LOADED_BY_IMPORTS = """
import sys
import risingpy.embedded
from numba.core.dispatcher import Dispatcher
from risingpy.storage.kernels.compile import Kernel
for name, module in tuple(sys.modules.items()):
    for each in tuple(vars(module).values()) if name.startswith("risingpy.") else ():
        loaded = each.signatures if isinstance(each, Dispatcher) else isinstance(each, Kernel) and each._dispatcher
        if loaded:
            print(name, each.__name__)
"""


def test_imports_load_no_machine_code() -> None:
    """A program waits for its imports: half a second of kernels that it may not need is none of them."""
    assert subprocess.check_output([sys.executable, "-c", LOADED_BY_IMPORTS], text=True) == ""


def test_a_kernel_whose_compilation_broke_off_is_compiled_by_its_next_call(monkeypatch: pytest.MonkeyPatch) -> None:
    def double(n: int) -> int:
        return 2 * n

    scaled: Any = compilation.Kernel(double, types.int64(types.int64))
    with monkeypatch.context() as broken:
        broken.setattr(Dispatcher, "compile", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            _ = scaled.code
    assert scaled.code.signatures and scaled(20) == 40
