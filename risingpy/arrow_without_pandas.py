"""Keeps PyArrow from importing pandas, which our processes never use and whose import takes 0.3 to 0.5 s.

The first `pyarrow.array` of a Python list tests whether pandas is installed by importing it, and remembers the result.
If this function is called before, the test fails. Other code can still import pandas later.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType


class _NoPandas:
    """An import hook that reports pandas as missing."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name == "pandas":
            raise ModuleNotFoundError("pandas is hidden from PyArrow", name=name)
        return None


def begin_without_pandas() -> None:
    """Call it before anything that makes Arrow arrays is imported."""
    import pyarrow  # noqa: PLC0415 - whoever imports this module for another reason needs no Arrow

    hook = _NoPandas()
    sys.meta_path.insert(0, hook)
    try:
        pyarrow.array([0])
    finally:
        sys.meta_path.remove(hook)
