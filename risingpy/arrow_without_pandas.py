"""Keeps PyArrow from importing pandas, whose import takes 0.2 to 0.5 s, before somebody wants it.

The first `pyarrow.array` of a Python list tests whether pandas is installed by importing it, and remembers the result:
here, that pandas is missing. A program that opens a database in its own process may use data frames at any later time,
so whoever imports pandas first makes PyArrow look again.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType


class _NoPandas:
    """An import hook that reports pandas as missing, to the thread that makes it."""

    def __init__(self) -> None:
        self._thread = threading.get_ident()

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name == "pandas" and threading.get_ident() == self._thread:
            raise ModuleNotFoundError("pandas is hidden from PyArrow", name=name)
        return None


class _PandasForArrow:
    """An import hook that finds pandas as the hooks after this one do, and shows it to PyArrow once it is loaded."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != "pandas":
            return None
        # Two of these hooks, of threads that opened databases at once, must not look for pandas in each other.
        others = (finder for finder in sys.meta_path if not isinstance(finder, _PandasForArrow))
        spec = next((found for finder in others if (found := finder.find_spec(name, path, target))), None)
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def load_and_show(module: ModuleType) -> None:
                load(module)
                sys.meta_path.remove(self)
                _look_for_pandas()

            spec.loader.exec_module = load_and_show  # type: ignore[method-assign]
        return spec


def begin_without_pandas() -> None:
    """Call it before anything that makes Arrow arrays is imported.

    Does nothing where pandas is imported already, nor the second time.
    """
    if "pandas" in sys.modules or any(isinstance(finder, _PandasForArrow) for finder in sys.meta_path):
        return
    import pyarrow  # noqa: PLC0415 - whoever imports this module for another reason needs no Arrow

    hook = _NoPandas()
    sys.meta_path.insert(0, hook)
    try:
        pyarrow.array([0])
    finally:
        sys.meta_path.remove(hook)
    sys.meta_path.insert(0, _PandasForArrow())


def _look_for_pandas() -> None:
    """PyArrow looks again where it cannot do without."""
    import pyarrow  # noqa: PLC0415

    pyarrow.nulls(0).to_pandas()
